package main

import (
	"context"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/firebase/genkit/go/core/x/session"
	"github.com/tmc/langchaingo/llms"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/sdk/go/eino"
	"github.com/turnlog/turnlog/sdk/go/genkit"
	"github.com/turnlog/turnlog/sdk/go/langchaingo"
	"github.com/turnlog/turnlog/test/compat/golang/driver"
	"github.com/turnlog/turnlog/turn"
)

const ttl = time.Hour

// sessions is the client alone. Here and below, each message is a request that reads the conversation, and adds to
// it under an id if nothing has changed since.
type sessions struct{ *client.Client }

func openSessions(_ driver.Config, address string) (driver.History, error) {
	c, err := connect(address)
	return sessions{c}, err
}

func (s sessions) Add(ctx context.Context, name, text string) error {
	session := s.Session("client:" + name)
	history, err := session.Last(ctx, 1)
	if err != nil {
		return err
	}
	_, err = session.TTL(ttl).Expect(history.Revision).Append(ctx, turn.NewMessage{ID: text, Data: []byte(text)})
	return err
}

func (s sessions) Texts(ctx context.Context, name string) (texts []string, err error) {
	for m, err := range s.Session("client:"+name).All(ctx, 0) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(m.Data))
	}
	return texts, nil
}

type langChainGo struct{ *client.Client }

func openLangChainGo(_ driver.Config, address string) (driver.History, error) {
	c, err := connect(address)
	return langChainGo{c}, err
}

func (l langChainGo) Add(ctx context.Context, name, text string) error {
	history := langchaingo.NewHistory(l.Client, "langchaingo:"+name,
		langchaingo.Config{Last: 1, TTL: ttl, Conditional: true})
	if _, err := history.Messages(ctx); err != nil {
		return err
	}
	return history.AddUserMessage(langchaingo.WithMessageIDs(ctx, text), text)
}

func (l langChainGo) Texts(ctx context.Context, name string) ([]string, error) {
	list, err := langchaingo.NewHistory(l.Client, "langchaingo:"+name, langchaingo.Config{}).Messages(ctx)
	return texts(list, llms.ChatMessage.GetContent), err
}

type einoMemory struct{ *client.Client }

func openEino(_ driver.Config, address string) (driver.History, error) {
	c, err := connect(address)
	return einoMemory{c}, err
}

func (e einoMemory) Add(ctx context.Context, name, text string) error {
	memory := eino.NewMemory(e.Client, eino.Config{Prefix: "eino:", Last: 1, TTL: ttl, Conditional: true})
	if _, err := memory.Read(ctx, name); err != nil {
		return err
	}
	return memory.Append(eino.WithMessageIDs(ctx, text), name, schema.UserMessage(text))
}

func (e einoMemory) Texts(ctx context.Context, name string) ([]string, error) {
	list, err := eino.NewMemory(e.Client, eino.Config{Prefix: "eino:"}).Read(ctx, name)
	return texts(list, func(m *schema.Message) string { return m.Content }), err
}

// genkitState is a session whose state is the conversation. It has no ids of messages: a transaction has its own.
type genkitState struct{ *client.Client }

func openGenkit(_ driver.Config, address string) (driver.History, error) {
	c, err := connect(address)
	return genkitState{c}, err
}

func (g genkitState) store() *genkit.Store[[]string] {
	return genkit.NewStore[[]string](g.Client, genkit.Config{Prefix: "genkit:", TTL: ttl, Conditional: true})
}

func (g genkitState) Add(ctx context.Context, name, text string) error {
	store := g.store()
	data, err := store.Get(ctx, name)
	if err != nil {
		return err
	}
	if data == nil {
		data = &session.Data[[]string]{ID: name}
	}
	data.State = append(data.State, text)
	return store.Save(ctx, name, data)
}

func (g genkitState) Texts(ctx context.Context, name string) ([]string, error) {
	data, err := g.store().Get(ctx, name)
	if data == nil {
		return nil, err
	}
	return data.State, err
}

func texts[M any](list []M, text func(M) string) []string {
	all := make([]string, len(list))
	for i, m := range list {
		all[i] = text(m)
	}
	return all
}
