package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	healthTimeout = 2 * time.Second
	// The other targets wait for a pooled connection without a time limit.
	poolTimeout = time.Hour
	insert      = `
INSERT INTO items (sku, name, quantity, price_cents)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[])`
)

var redisKeys = [...]string{"loadgen:1", "loadgen:2", "loadgen:3"}

// backends holds a pool of connections to each configured backend. The pools connect when they are first used. They
// serve callers in the order of their calls.
type backends struct {
	redis    *redis.Client
	postgres *pgxpool.Pool
}

func openBackends(poolSize int) (*backends, error) {
	logging.Disable()
	b := &backends{}
	if url := os.Getenv("REDIS_URL"); url != "" {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, err
		}
		options.PoolSize = poolSize
		options.PoolTimeout = poolTimeout
		options.ContextTimeoutEnabled = true // Otherwise go-redis ignores the deadline of a health check.
		// Only Redis Enterprise announces its maintenance.
		options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		b.redis = redis.NewClient(options)
	}
	if url := os.Getenv("DATABASE_URL"); url != "" {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config.MaxConns = int32(poolSize)
		if b.postgres, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// healthy returns whether each configured backend responds.
func (b *backends) healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if b.redis != nil && b.redis.Ping(ctx).Err() != nil {
		return false
	}
	return b.postgres == nil || b.postgres.Ping(ctx) == nil
}

// readValues reads the three keys one after another, in three round trips on one connection.
func (b *backends) readValues(ctx context.Context) ([]*string, error) {
	if b.redis == nil {
		return nil, errors.New("REDIS_URL is not set")
	}
	connection := b.redis.Conn()
	defer connection.Close()
	values := make([]*string, len(redisKeys))
	for i, key := range redisKeys {
		value, err := connection.Get(ctx, key).Result()
		if err == redis.Nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		values[i] = &value
	}
	return values, nil
}

// insert stores the items in one statement, which is a separate transaction, and returns the number of stored items.
func (b *backends) insert(ctx context.Context, items *columns) (int64, error) {
	if b.postgres == nil {
		return 0, errors.New("DATABASE_URL is not set")
	}
	tag, err := b.postgres.Exec(ctx, insert, items.skus, items.names, items.quantities, items.priceCents)
	return tag.RowsAffected(), err
}
