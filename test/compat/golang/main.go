// Golang drives a list history on go-redis; test/compat/README.md has the protocol.
package main

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/test/compat/golang/driver"
)

func main() {
	list := driver.Library{Module: "github.com/redis/go-redis/v9", Name: "go-redis", Open: open}
	driver.Main(map[string]driver.Library{"go-redis list": list, "go-redis list without retries": list,
		"go-redis list with ids": list})
}

// message is an element of a list.
type message struct {
	ID string `json:"id"`
}

// history is conversations as lists.
type history struct{ *redis.Client }

func open(c driver.Config, url string) (driver.History, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if !c.Retry {
		options.MaxRetries = -1
	}
	return history{redis.NewClient(options)}, nil
}

func (h history) Add(ctx context.Context, name, text string) error {
	element, err := json.Marshal(message{ID: text})
	if err != nil {
		return err
	}
	return h.RPush(ctx, name, element).Err()
}

func (h history) Texts(ctx context.Context, name string) ([]string, error) {
	list, err := h.LRange(ctx, name, 0, -1).Result()
	for i, text := range list {
		var m message
		if json.Unmarshal([]byte(text), &m) == nil { // else it is foreign
			list[i] = m.ID
		}
	}
	return list, err
}
