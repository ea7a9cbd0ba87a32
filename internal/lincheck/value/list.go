package value

import "slices"

func push(left bool) func(Value, []string) (Value, string) {
	return func(v Value, texts []string) (Value, string) {
		items := slices.Clone(v.items)
		for _, t := range texts {
			if left {
				items = slices.Insert(items, 0, item{text: t})
			} else {
				items = append(items, item{text: t})
			}
		}
		return Value{items: items}, number(len(items))
	}
}

func lpop(right bool) func(Value, []string) (Value, string) {
	return func(v Value, _ []string) (Value, string) {
		switch n := len(v.items); {
		case n == 0:
			return v, none
		case right:
			return Value{items: v.items[:n-1]}, bulk(v.items[n-1].text)
		}
		return Value{items: v.items[1:]}, bulk(v.items[0].text)
	}
}

// at returns the place that an index means, which may be before or behind the list.
func (v Value) at(index string) int {
	i := integer(index)
	if i < 0 {
		i += len(v.items)
	}
	return i
}

func lset(v Value, args []string) (Value, string) {
	i := v.at(args[0])
	switch {
	case !v.exists():
		return v, failed("ERR no such key")
	case i < 0 || i >= len(v.items):
		return v, failed("ERR index out of range")
	}
	items := slices.Clone(v.items)
	items[i].text = args[1]
	return Value{items: items}, done
}

func lindex(v Value, args []string) (Value, string) {
	if i := v.at(args[0]); i >= 0 && i < len(v.items) {
		return v, bulk(v.items[i].text)
	}
	return v, none
}

// lrem removes the first so many that are equal, from the right if the number is negative, and
// all if it is 0.
func lrem(v Value, args []string) (Value, string) {
	count, text := integer(args[0]), args[1]
	items := slices.Clone(v.items)
	if count < 0 {
		slices.Reverse(items)
	}
	removed := 0
	items = slices.DeleteFunc(items, func(i item) bool {
		gone := i.text == text && (count == 0 || removed < max(count, -count))
		if gone {
			removed++
		}
		return gone
	})
	if count < 0 {
		slices.Reverse(items)
	}
	return Value{items: items}, number(removed)
}

func linsert(v Value, args []string) (Value, string) {
	i := slices.IndexFunc(v.items, func(i item) bool { return i.text == args[1] })
	switch {
	case !v.exists():
		return v, number(0)
	case i < 0:
		return v, number(-1)
	case args[0] == "AFTER":
		i++
	}
	items := slices.Insert(slices.Clone(v.items), i, item{text: args[2]})
	return Value{items: items}, number(len(items))
}

// between returns the part of the list that two indices mean.
func (v Value) between(args []string) []item {
	from, to := max(0, v.at(args[0])), min(len(v.items), v.at(args[1])+1)
	if from >= to {
		return nil
	}
	return v.items[from:to]
}

func ltrim(v Value, args []string) (Value, string) { return Value{items: v.between(args)}, done }

func lrange(v Value, args []string) (Value, string) { return v, texts(v.between(args)) }
