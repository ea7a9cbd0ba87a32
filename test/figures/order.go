package main

import "slices"

// runBack counts the references of a package that run back in its best order, and its files in cycles.
func (g graph) runBack() (back, cyclic int) {
	for _, order := range g.cycles() {
		back += g.against(order)
		cyclic += len(order)
	}
	return back, cyclic
}

// cycles are the components with more than one file, each in its best order.
func (g graph) cycles() (orders [][]int) {
	for _, c := range g.components() {
		if len(c) == 1 {
			continue
		}
		slices.Sort(c)
		s := g.sub(c)
		order := s.improve(s.greedy())
		for i, at := range order {
			order[i] = c[at]
		}
		orders = append(orders, order)
	}
	return orders
}

// against counts references to files that come before.
func (g graph) against(order []int) (sum int) {
	for i, from := range order {
		for _, to := range order[:i] {
			sum += g.edges[from][to]
		}
	}
	return sum
}

// greedy orders files so that few references run back: files that use no others go to the end, files
// that no other uses to the start, else the one that uses most more than it is used goes to the start.
func (g graph) greedy() []int {
	left := make([]int, len(g.files))
	for i := range left {
		left[i] = i
	}
	var start, end []int
	for len(left) > 0 {
		best, bestSurplus, sink := 0, 0, false
		for k, v := range left {
			uses, used := g.degree(v, left)
			if uses == 0 {
				best, sink = k, true
				break
			}
			surplus := uses - used
			if used == 0 {
				surplus = 1 << 30
			}
			if k == 0 || surplus > bestSurplus {
				best, bestSurplus = k, surplus
			}
		}
		if sink {
			end = append(end, left[best])
		} else {
			start = append(start, left[best])
		}
		left = slices.Delete(left, best, best+1)
	}
	slices.Reverse(end)
	return append(start, end...)
}

// degree counts the references from v, and to v, among some files.
func (g graph) degree(v int, among []int) (uses, used int) {
	for _, w := range among {
		uses += g.edges[v][w]
		used += g.edges[w][v]
	}
	return uses, used
}

// improve moves single files to better places until none is left to move.
func (g graph) improve(order []int) []int {
	for {
		moved := false
		for i := range order {
			place, gain := g.bestPlace(order, i)
			if gain <= 0 {
				continue
			}
			v := order[i]
			order = slices.Insert(slices.Delete(order, i, i+1), place, v)
			moved = true
		}
		if !moved {
			return order
		}
	}
}

// bestPlace finds where the file at i is best moved, and by how much that reduces what runs back.
func (g graph) bestPlace(order []int, i int) (place, gain int) {
	v := order[i]
	place = i
	sum := 0
	for k := i - 1; k >= 0; k-- { // in front of w: v's references to w run forward now
		w := order[k]
		if sum += g.edges[v][w] - g.edges[w][v]; sum > gain {
			place, gain = k, sum
		}
	}
	sum = 0
	for k := i + 1; k < len(order); k++ {
		w := order[k]
		if sum += g.edges[w][v] - g.edges[v][w]; sum > gain {
			place, gain = k, sum
		}
	}
	return place, gain
}
