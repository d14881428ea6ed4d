// River as a contender: one line on standard input, one line of JSON on standard output.
// See ../npm/serve.ts for the commands.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sync/errgroup"
)

const (
	portion  = 5_000
	callers  = 2
	poolSize = 12
	// The same three settings as River's own benchmark (riverbench).
	maxWorkers        = 2_000
	fetchCooldown     = 2 * time.Millisecond
	fetchPollInterval = 20 * time.Millisecond
	progressInterval  = 20 * time.Millisecond
)

type noopArgs struct {
	N int `json:"n"`
}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
	ran *ran
}

func (w *noopWorker) Work(_ context.Context, job *river.Job[noopArgs]) error {
	return w.ran.note(job.Args.N)
}

// working is the state between "work" and "stop".
type working struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool
	ran    *ran
	cancel context.CancelFunc
}

// peer is the state that is kept between lines.
type peer struct {
	out     sync.Mutex
	working *working
	watch   *pgxpool.Pool
	watched string
}

func main() {
	p := &peer{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		answer, err := p.answer(context.Background(), words)
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		p.tell(answer)
	}
}

func (p *peer) tell(answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	p.out.Lock()
	defer p.out.Unlock()
	fmt.Println(string(text))
}

func (p *peer) answer(ctx context.Context, words []string) (any, error) {
	switch {
	case len(words) == 2 && words[0] == "install":
		return map[string]any{"installed": true}, install(ctx, words[1])
	case len(words) == 4 && words[0] == "store":
		return store(ctx, words[1], words[2], words[3])
	case len(words) == 3 && words[0] == "work":
		return map[string]any{"ready": true}, p.work(ctx, words[1], words[2])
	case len(words) == 2 && words[0] == "left":
		left, err := p.isLeft(ctx, words[1])
		return map[string]any{"left": left}, err
	case len(words) == 1 && words[0] == "forget":
		if p.working == nil {
			return nil, fmt.Errorf("nothing is being worked on")
		}
		p.working.ran.forget()
		return map[string]any{"did": "forget"}, nil
	case len(words) == 1 && words[0] == "stop":
		return p.stop(ctx)
	}
	return nil, fmt.Errorf("nobody here knows what %q asks for", words)
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(ctx context.Context, url string, size int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = size
	return pgxpool.NewWithConfig(ctx, config)
}

func install(ctx context.Context, url string) error {
	pool, err := open(ctx, url, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func store(ctx context.Context, url, countText, atText string) (any, error) {
	count, err := strconv.Atoi(countText)
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseInt(atText, 10, 64)
	if err != nil {
		return nil, err
	}
	startedAt := time.Now()
	pool, err := open(ctx, url, callers)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	var opts *river.InsertOpts
	if at != 0 {
		opts = &river.InsertOpts{ScheduledAt: time.UnixMilli(at)}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callers)
	for from := 0; from < count; from += portion {
		group.Go(func() error {
			jobs := make([]river.InsertManyParams, 0, portion)
			for n := from; n < min(count, from+portion); n++ {
				jobs = append(jobs, river.InsertManyParams{Args: noopArgs{N: n}, InsertOpts: opts})
			}
			_, err := client.InsertManyFast(ctx, jobs)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return map[string]any{"storedMs": float64(time.Since(startedAt).Microseconds()) / 1_000}, nil
}

func (p *peer) work(ctx context.Context, url, countText string) error {
	count, err := strconv.Atoi(countText)
	if err != nil {
		return err
	}
	pool, err := open(ctx, url, poolSize)
	if err != nil {
		return err
	}
	r := &ran{seen: make([]byte, (count+7)/8)}
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{ran: r})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPollInterval,
		Logger:            silent(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		Workers:           workers,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	told, cancel := context.WithCancel(ctx)
	p.working = &working{client: client, pool: pool, ran: r, cancel: cancel}
	go p.tellProgress(told, r)
	return nil
}

func (p *peer) tellProgress(ctx context.Context, r *ran) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for told := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if runs := r.count(); runs != told {
				told = runs
				p.tell(map[string]any{"ran": runs})
			}
		}
	}
}

func (p *peer) isLeft(ctx context.Context, url string) (bool, error) {
	if p.watched != url {
		if p.watch != nil {
			p.watch.Close()
		}
		pool, err := open(ctx, url, 1)
		if err != nil {
			return false, err
		}
		p.watch, p.watched = pool, url
	}
	var left bool
	err := p.watch.QueryRow(ctx, "select exists (select from river_job where state <> 'completed')").Scan(&left)
	return left, err
}

func (p *peer) stop(ctx context.Context) (any, error) {
	w := p.working
	if w == nil {
		return nil, fmt.Errorf("nothing is being worked on")
	}
	p.working = nil
	w.cancel()
	defer w.pool.Close()
	if err := w.client.Stop(ctx); err != nil {
		return nil, err
	}
	return map[string]any{"stopped": w.ran.told()}, nil
}
