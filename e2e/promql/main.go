// Command promql evaluates PromQL expressions over pages of metrics, as if Prometheus had scraped the pages one minute
// apart. It reads the pages and expressions from a file, and writes the selectors without a series as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	// interval is the time between two scrapes.
	interval = time.Minute
	// samplesMax and evaluationMax limit the evaluation of one expression.
	samplesMax    = 5_000_000
	evaluationMax = 30 * time.Second
)

// rule is an expression. If Record is not empty, its result is stored as a series with that name (a recording rule).
type rule struct {
	Record string
	Labels map[string]string
	Expr   string
}

// work is the input: the labels of a target, its pages in order, and rules. A rule may use series that earlier rules record.
type work struct {
	Target map[string]string
	Pages  []string
	Rules  []rule
}

// prometheus is a store of samples, with an engine that evaluates expressions over it.
type prometheus struct {
	store  *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var todo work
	if err := json.Unmarshal(text, &todo); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "promql")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: samplesMax, Timeout: evaluationMax, Parser: p})
	prom := prometheus{store, engine, p}
	begin := time.Now().Add(-interval * time.Duration(len(todo.Pages)))
	var now time.Time
	for number, page := range todo.Pages {
		now = begin.Add(interval * time.Duration(number))
		if err := prom.scrape(page, todo.Target, now); err != nil {
			return err
		}
	}
	missing := map[string][]string{}
	for _, rule := range todo.Rules {
		selectors, err := prom.apply(rule, now)
		if err != nil {
			return fmt.Errorf("%s: %w", rule.Expr, err)
		}
		for _, selector := range selectors {
			missing[selector] = append(missing[selector], rule.Expr)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(missing)
}

// scrape stores a page's samples, and the sample up = 1 of the target.
func (p prometheus) scrape(page string, target map[string]string, at time.Time) error {
	appender := p.store.Appender(context.Background())
	add := func(series labels.Labels, value float64) error {
		_, err := appender.Append(0, with(series, target), at.UnixMilli(), value)
		return err
	}
	if err := add(labels.FromStrings(labels.MetricName, "up"), 1); err != nil {
		return err
	}
	samples, err := textparse.New([]byte(page), "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := samples.Next()
		if errors.Is(err, io.EOF) {
			return appender.Commit()
		}
		if err != nil {
			return err
		}
		if entry == textparse.EntrySeries {
			var series labels.Labels
			samples.Labels(&series)
			_, _, value := samples.Series()
			if err := add(series, value); err != nil {
				return fmt.Errorf("%s: %w", series, err)
			}
		}
	}
}

// apply evaluates a rule, records its result if it has a name, and returns its selectors without a series.
func (p prometheus) apply(rule rule, at time.Time) ([]string, error) {
	expression, err := p.parser.ParseExpr(rule.Expr)
	if err != nil {
		return nil, err
	}
	var missing []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is && err == nil {
			var found promql.Vector
			if found, err = p.evaluate(selector.String(), at); len(found) == 0 {
				missing = append(missing, selector.String())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	result, err := p.evaluate(rule.Expr, at)
	if err != nil || rule.Record == "" {
		return missing, err
	}
	appender := p.store.Appender(context.Background())
	for _, sample := range result {
		name := map[string]string{labels.MetricName: rule.Record}
		if _, err := appender.Append(0, with(with(sample.Metric, rule.Labels), name), at.UnixMilli(), sample.F); err != nil {
			return nil, err
		}
	}
	return missing, appender.Commit()
}

func (p prometheus) evaluate(expression string, at time.Time) (promql.Vector, error) {
	query, err := p.engine.NewInstantQuery(context.Background(), storage.Queryable(p.store), nil, expression, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	if scalar, is := result.Value.(promql.Scalar); is {
		return promql.Vector{{F: scalar.V}}, nil
	}
	return result.Vector()
}

// with returns a series with additional labels.
func with(series labels.Labels, more map[string]string) labels.Labels {
	builder := labels.NewBuilder(series)
	for name, value := range more {
		builder.Set(name, value)
	}
	return builder.Labels()
}
