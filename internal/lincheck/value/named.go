package value

import "strconv"

// Hashes, sets and sorted sets: what they hold has names.

func hset(v Value, args []string) (Value, string) {
	added := 0
	for i := 0; i+1 < len(args); i += 2 {
		if v.find(args[i]) < 0 {
			added++
		}
		v = v.with(item{name: args[i], text: args[i+1]})
	}
	return v, number(added)
}

func hsetnx(v Value, args []string) (Value, string) {
	if v.find(args[0]) >= 0 {
		return v, number(0)
	}
	return v.with(item{name: args[0], text: args[1]}), number(1)
}

func hincrby(v Value, args []string) (Value, string) {
	sum := integer(args[1])
	if i := v.find(args[0]); i >= 0 {
		sum += integer(v.items[i].text)
	}
	return v.with(item{name: args[0], text: number(sum)}), number(sum)
}

func hget(v Value, args []string) (Value, string) {
	if i := v.find(args[0]); i >= 0 {
		return v, bulk(v.items[i].text)
	}
	return v, none
}

func hgetall(v Value, _ []string) (Value, string) {
	var parts []string
	for _, i := range v.items {
		parts = append(parts, bulk(i.name), bulk(i.text))
	}
	return v, array(parts)
}

func sadd(v Value, members []string) (Value, string) {
	before := len(v.items)
	for _, m := range members {
		v = v.with(item{name: m})
	}
	return v, number(len(v.items) - before)
}

func sismember(v Value, args []string) (Value, string) {
	if v.find(args[0]) >= 0 {
		return v, number(1)
	}
	return v, number(0)
}

func smembers(v Value, _ []string) (Value, string) {
	var parts []string
	for _, i := range v.items {
		parts = append(parts, bulk(i.name))
	}
	return v, array(parts)
}

// zadd is ZADD [NX|XX|GT|LT] score member.
func zadd(v Value, args []string) (Value, string) {
	option := ""
	if len(args) == 3 {
		option, args = args[0], args[1:]
	}
	score := int64(integer(args[0]))
	at := v.find(args[1])
	switch {
	case at < 0 && option == "XX", at >= 0 && option == "NX":
		return v, number(0)
	case at >= 0 && (option == "GT" && score <= v.items[at].score || option == "LT" && score >= v.items[at].score):
		return v, number(0)
	}
	next := v.with(item{name: args[1], score: score})
	return next, number(len(next.items) - len(v.items))
}

func zincrby(v Value, args []string) (Value, string) {
	sum := int64(integer(args[0]))
	if i := v.find(args[1]); i >= 0 {
		sum += v.items[i].score
	}
	return v.with(item{name: args[1], score: sum}), bulk(strconv.FormatInt(sum, 10))
}

func zscore(v Value, args []string) (Value, string) {
	if i := v.find(args[0]); i >= 0 {
		return v, bulk(strconv.FormatInt(v.items[i].score, 10))
	}
	return v, none
}

func zrank(v Value, args []string) (Value, string) {
	if i := v.find(args[0]); i >= 0 {
		return v, number(i)
	}
	return v, none
}

// zrange is ZRANGE 0 -1 WITHSCORES.
func zrange(v Value, _ []string) (Value, string) {
	var parts []string
	for _, i := range v.items {
		parts = append(parts, bulk(i.name), bulk(strconv.FormatInt(i.score, 10)))
	}
	return v, array(parts)
}
