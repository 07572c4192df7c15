package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// item is one row of the table items, as a client sends the row. encoding/json leaves the pointers of missing keys nil.
type item struct {
	otherCases
	SKU        *string `json:"sku"`
	Name       *string `json:"name"`
	Quantity   *int32  `json:"quantity"`
	PriceCents *int32  `json:"price_cents"`
}

// otherCases refuses keys that differ from those of an item in case only, which are extra keys. If no field has exactly
// the name of a key, encoding/json chooses the first field that has the name in any case.
type otherCases struct {
	SKU        refused `json:"SKU"`
	Name       refused `json:"NAME"`
	Quantity   refused `json:"QUANTITY"`
	PriceCents refused `json:"PRICE_CENTS"`
}

type refused struct{}

func (refused) UnmarshalJSON([]byte) error { return errors.New("a key is not in lower case") }

// columns are the four arrays that the INSERT unnests.
type columns struct {
	skus       [][16]byte
	names      []string
	quantities []int32
	priceCents []int32
}

func parseItems(body []byte) (*columns, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var items []item
	if err := decoder.Decode(&items); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("text after the array")
	}
	if items == nil {
		return nil, errors.New("null is not an array")
	}
	all := &columns{skus: make([][16]byte, 0, len(items))}
	for _, item := range items {
		if err := all.add(item); err != nil {
			return nil, err
		}
	}
	if all.haveReplacements() && !isUnicode(body) {
		return nil, errors.New("a name is not Unicode")
	}
	return all, nil
}

func (c *columns) add(i item) error {
	if i.SKU == nil || i.Name == nil || i.Quantity == nil || i.PriceCents == nil {
		return errors.New("an item lacks a key")
	}
	sku, err := uuid.Parse(*i.SKU)
	if err != nil {
		return err
	}
	if len(*i.SKU) != len("00000000-0000-0000-0000-000000000000") {
		return errors.New("a sku is not in the form of 8-4-4-4-12 digits")
	}
	if strings.ContainsRune(*i.Name, 0) {
		return errors.New("a name has a NUL character, which PostgreSQL cannot store")
	}
	if *i.Quantity < 0 || *i.PriceCents < 0 {
		return errors.New("a number is negative")
	}
	c.skus = append(c.skus, sku)
	c.names = append(c.names, *i.Name)
	c.quantities = append(c.quantities, *i.Quantity)
	c.priceCents = append(c.priceCents, *i.PriceCents)
	return nil
}

// haveReplacements returns whether a name has U+FFFD. encoding/json replaces invalid UTF-8 and unpaired surrogates by
// U+FFFD.
func (c *columns) haveReplacements() bool {
	for _, name := range c.names {
		if strings.ContainsRune(name, utf8.RuneError) {
			return true
		}
	}
	return false
}

// Matches a pair of surrogates, an unpaired surrogate (the group), or any other escape.
var escapes = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u([dD][89a-fA-F])|\\.`)

// isUnicode returns whether a JSON text is valid UTF-8 without unpaired surrogates.
func isUnicode(body []byte) bool {
	for _, escape := range escapes.FindAllSubmatch(body, -1) {
		if escape[1] != nil {
			return false
		}
	}
	return utf8.Valid(body)
}
