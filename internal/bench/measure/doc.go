// Package measure has what figures of a load are made of: latencies as a histogram or, where it
// matters when an operation took place, as samples; and what the processes of a store use and do
// meanwhile, by way of /proc and the nodes' metrics.
package measure
