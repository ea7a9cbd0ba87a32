package value

// Strings. Those that the harness writes are numbers.

func (v Value) bulk() string {
	if v.exists() {
		return bulk(v.items[0].text)
	}
	return none
}

func text(t string) Value { return Value{items: []item{{text: t}}} }

// set is SET value [NX|XX|GET].
func set(v Value, args []string) (Value, string) {
	option := ""
	if len(args) > 1 {
		option = args[1]
	}
	switch {
	case option == "NX" && v.exists(), option == "XX" && !v.exists():
		return v, none
	case option == "GET":
		return text(args[0]), v.bulk()
	}
	return text(args[0]), done
}

func setnx(v Value, args []string) (Value, string) {
	if v.exists() {
		return v, number(0)
	}
	return text(args[0]), number(1)
}

func incrby(v Value, args []string) (Value, string) {
	sum := integer(args[0])
	if v.exists() {
		sum += integer(v.items[0].text)
	}
	return text(number(sum)), number(sum)
}

func get(v Value, _ []string) (Value, string) { return v, v.bulk() }

func getdel(v Value, _ []string) (Value, string) { return Value{}, v.bulk() }
