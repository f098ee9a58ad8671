// Differential compares this crate with cel-go and Go's standard library on random inputs.
//
//	cargo build -p mainstay-cel --example answer && cd pkg/cel/differential && go run . -n 1000000 -seed 1
//
// It prints both results of each difference, and stops after -stop differences (10 by default). -answer is the path of
// this crate's example binary.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/debug"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
)

// answer is the result of one side for an input.
type answer struct {
	Tree   string `json:"tree,omitempty"`
	Value  string `json:"value,omitempty"`
	Errors string `json:"errors,omitempty"`
}

func main() {
	count := flag.Int("n", 100000, "number of inputs")
	seed := flag.Int64("seed", 1, "seed of the random numbers")
	kind := flag.String("kind", "parse", "kind of inputs: parse, regex, url, ip, cidr, time, eval")
	stop := flag.Int("stop", 10, "maximum number of differences")
	binary := flag.String("answer", "../../../target/debug/examples/answer", "path of this crate's example binary")
	flag.Parse()
	command := exec.Command(*binary)
	in, err := command.StdinPipe()
	check(err)
	out, err := command.StdoutPipe()
	check(err)
	check(command.Start())
	random := rand.New(rand.NewSource(*seed))
	questions := make(chan map[string]string, 1000)
	go send(in, questions, *kind, *count, random)
	lines := bufio.NewReaderSize(out, 1<<20)
	parse, strict := newParsers()
	var env *cel.Env
	if *kind == "eval" {
		env = newEvaluator()
	}
	differences, panics := 0, 0
	for question := range questions {
		line, err := lines.ReadBytes('\n')
		check(err)
		var ours answer
		check(json.Unmarshal(line, &ours))
		theirs, answered := expectedOrPanic(question, env, parse, strict)
		if !answered {
			panics++
		}
		if answered && ours != theirs {
			fmt.Printf("--- %q\n--- ours\n%s%s%s\n--- theirs\n%s%s%s\n", question,
				ours.Tree, ours.Value, ours.Errors, theirs.Tree, theirs.Value, theirs.Errors)
			if differences++; differences == *stop {
				os.Exit(1)
			}
		}
	}
	fmt.Printf("%d inputs, %d differences; cel-go panics on %d\n", *count, differences, panics)
	if differences > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func send(in io.WriteCloser, questions chan<- map[string]string, kind string, count int, random *rand.Rand) {
	for range count {
		question := map[string]string{kind: text(kind, random)}
		if kind == "regex" {
			question["in"] = soup(random, strings.Split("a b c x 1 2 _ - é K k ſ s  \n [ ] { } A Z", " "), 12)
		}
		if kind == "parse" && random.Intn(3) == 0 {
			question["strict"] = "yes"
		}
		if kind == "eval" {
			question["object"] = object(random)
		}
		if kind == "time" {
			question["zone"] = zones[random.Intn(len(zones))]
		}
		line, err := json.Marshal(question)
		check(err)
		_, err = in.Write(append(line, '\n'))
		check(err)
		questions <- question
	}
	close(questions)
	in.Close()
}

// text returns a random input of a kind.
func text(kind string, random *rand.Rand) string {
	switch kind {
	case "parse":
		if random.Intn(3) == 0 {
			return soup(random, tokens, 14)
		}
		made := expression(random, 4)
		for range random.Intn(3) {
			made = mutate(random, made)
		}
		return made
	case "regex":
		return soup(random, patterns, 10)
	case "url":
		return soup(random, urls, 12)
	case "time":
		return moment(random)
	case "eval":
		return typed(random, "iudsybDTltmo"[random.Intn(12)], random.Intn(5), nil)
	default:
		return soup(random, addresses, 14)
	}
}

func soup(random *rand.Rand, pieces []string, most int) string {
	var made strings.Builder
	for range random.Intn(most) + 1 {
		made.WriteString(pieces[random.Intn(len(pieces))])
	}
	return made.String()
}

var tokens = strings.Split("( ) [ ] { } . , ? : - ! + * / % == != < <= > >= && || in true false null "+
	"a b self var x.y 1 2u 0x1F 1.5 .5e3 1e400 99999999999999999999 'str' \"s\\n\" r'raw' b'by' '''tri''' ' \" ` `q-r` "+
	"has( .all( .map( .exists_one( .optMap( .transformMap( cel.bind( // \n é 😁 @ $ = & | \t \\ '\\ud800' '\\xF'", " ")

var patterns = strings.Split("a b c x . * + ? | ( ) [ ] { } ^ $ \\ {2} {2,} {1,3} {1001} {,2} (?i) (?i: (?s-m: (?P<n> (?<m> (?= (?U) "+
	"[a-c] [^x] [[:alpha:]] [[:^digit:]] [[:no:]] \\d \\D \\w \\W \\s \\S \\b \\B \\A \\z \\Z \\pL \\p{Greek} \\p{^Lu} \\P{No} \\Q \\E "+
	"\\x41 \\x{e9} \\x{110000} \\101 \\1 \\n \\- \\_ \\é é K ſ && -- ~~ - , : = ! # < > ' \" /", " ")

var urls = strings.Split("http https ftp : :// // / ? # & = ; @ [ ] %25 %2f %zz % + a b.c host 80 :8080 ::1 [::1] [fe80::1%25en0] 1.2.3.4 "+
	"é ~ ! $ ' ( ) * , < > \" ^ _ - . .. \\ | { } * \x7f", " ")

var addresses = strings.Split("0 1 12 255 256 00 01 a f abcd 12345 . : :: / % 8 24 32 33 128 129 -1 +1 .0 192.168.0.1 ::ffff: fe80:: "+
	"2001:db8:: /64 /24 en0 x é", " ")

// Time zones with the same rules in the databases of both sides. EST and Africa/Casablanca are absent, because their rules
// differ by release.
var zones = strings.Split("UTC Local Europe/Berlin America/New_York Australia/Lord_Howe Asia/Kathmandu "+
	"Pacific/Apia America/Sao_Paulo Antarctica/Troll Etc/GMT+5 US/Central europe/berlin No/Where ../x +05:30 -00:30 -12:00 1:2 x:1 :", " ")

// moment returns a random timestamp. About one in ten is mutated and may be invalid.
func moment(random *rand.Rand) string {
	year, offset := 1970+random.Intn(80), random.Intn(25*60)-12*60
	if random.Intn(3) == 0 {
		year = random.Intn(10000)
	}
	zone := time.FixedZone("", offset*60*random.Intn(2))
	at := time.Date(year, time.Month(random.Intn(12)+1), random.Intn(28)+1, random.Intn(24), random.Intn(60), random.Intn(60),
		random.Intn(1000)*random.Intn(2)*1000003, zone)
	made := at.Format(time.RFC3339Nano)
	if random.Intn(10) == 0 {
		return mutate(random, made)
	}
	return made
}

// expression returns a random expression with few or no errors.
func expression(random *rand.Rand, depth int) string {
	if depth == 0 {
		leaves := strings.Split("a b.c self.x -1 --1 2u 1.5 'é' \"x\" r'\\' b'\\377' true null [] {} T{} .a .f(1) in while [?a] {?a:1} a.?b a[?0] `x` a.`b-c`", " ")
		return leaves[random.Intn(len(leaves))]
	}
	sub := func() string { return expression(random, random.Intn(depth)) }
	switch random.Intn(16) {
	case 0, 1, 2:
		operators := strings.Split("+ - * / % == != < <= > >= in && ||", " ")
		return sub() + " " + operators[random.Intn(len(operators))] + " " + sub()
	case 3:
		return sub() + " ? " + sub() + " : " + sub()
	case 4:
		return "(" + sub() + ")"
	case 5:
		return "[" + sub() + ", " + sub() + "]"
	case 6:
		return "{" + sub() + ": " + sub() + ",}"
	case 7:
		return "a.B{f: " + sub() + ", g: " + sub() + "}"
	case 8:
		return strings.Repeat("!", random.Intn(3)+1) + sub()
	case 9:
		return strings.Repeat("-", random.Intn(3)+1) + sub()
	case 10:
		return sub() + "[" + sub() + "]"
	case 11:
		return sub() + ".f(" + sub() + ", " + sub() + ")"
	case 12:
		return "has(" + sub() + ".x)"
	case 13:
		chain := []string{sub()}
		for range random.Intn(6) {
			chain = append(chain, sub())
		}
		return strings.Join(chain, []string{" && ", " || "}[random.Intn(2)])
	default:
		macros := strings.Split("all exists exists_one existsOne map filter optMap optFlatMap sortBy transformList transformMap transformMapEntry bind", " ")
		arguments := []string{[]string{"x", "y", "__result__", "1"}[random.Intn(4)], sub(), sub(), sub()}[:random.Intn(4)+1]
		if random.Intn(2) == 0 && len(arguments) > 2 {
			arguments[1] = []string{"y", "x"}[random.Intn(2)]
		}
		target := sub()
		if random.Intn(4) == 0 {
			target = "cel"
		}
		return target + "." + macros[random.Intn(len(macros))] + "(" + strings.Join(arguments, ", ") + ")"
	}
}

// mutate deletes up to two characters at a random position, and often inserts a token there.
func mutate(random *rand.Rand, text string) string {
	runes := []rune(text)
	at := random.Intn(len(runes) + 1)
	end := min(at+random.Intn(3), len(runes))
	insert := ""
	if random.Intn(3) > 0 {
		insert = tokens[random.Intn(len(tokens))]
	}
	return string(runes[:at]) + insert + string(runes[end:])
}

// expectedOrPanic returns Go's result, or false in answered if cel-go panics. cel-go panics on macros that copy an entry with
// an error, and on literals with elements `?x` whose type is unknown when Kubernetes inspects them.
func expectedOrPanic(question map[string]string, env *cel.Env, parse, strict *parser.Parser) (theirs answer, answered bool) {
	defer func() {
		recover()
	}()
	if expression, ok := question["eval"]; ok {
		return evaluated(env, expression, question["object"]), true
	}
	if question["strict"] != "" {
		parse = strict
	}
	return expected(question, parse), true
}

// expected returns Go's result.
func expected(question map[string]string, parse *parser.Parser) answer {
	if text, ok := question["parse"]; ok {
		return parsed(text, parse)
	}
	value, err := "", error(nil)
	if pattern, ok := question["regex"]; ok {
		compiled, failed := regexp.Compile(pattern)
		if err = failed; err == nil {
			value = strings.Join(compiled.FindAllString(question["in"], -1), "|")
		}
	} else if text, ok := question["url"]; ok {
		value, err = urlParts(text)
	} else if text, ok := question["time"]; ok {
		value, err = timeParts(text, question["zone"])
	} else if text, ok := question["ip"]; ok {
		value, err = address(text)
	} else {
		value, err = network(question["cidr"])
	}
	if err != nil {
		return answer{Errors: err.Error()}
	}
	return answer{Value: value}
}

func urlParts(text string) (string, error) {
	if _, err := url.ParseRequestURI(text); err != nil {
		return "", fmt.Errorf("URL parse error during conversion from string: %v", err)
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("URL parse error during conversion from string: %v", err)
	}
	query := u.Query()
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(query)) {
		pairs = append(pairs, key+"="+strings.Join(query[key], ","))
	}
	return fmt.Sprintf("%s %s %s %s %s %s", u, u.Scheme, u.Hostname(), u.Port(), u.EscapedPath(), strings.Join(pairs, "&")), nil
}

// timeParts returns the results of cel-go's functions on timestamps. Months and days of the year count from 0.
func timeParts(text, zone string) (string, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", fmt.Errorf("Format")
	}
	if at.Unix() < -62135596800 || at.Unix() > 253402300799 {
		return "", fmt.Errorf("Range")
	}
	location, err := location(zone)
	if err != nil {
		return "", err
	}
	in := at.In(location)
	return fmt.Sprintf("%s %d %d %d %d %d %d %d", at.Format(time.RFC3339Nano), in.Year(), in.Month()-1, in.YearDay()-1,
		in.Day(), in.Weekday(), in.Hour(), in.Minute()), nil
}

// location parses a time zone like cel-go.
func location(zone string) (*time.Location, error) {
	hours, minutes, found := strings.Cut(zone, ":")
	if !found {
		return time.LoadLocation(zone)
	}
	hour, err := strconv.Atoi(hours)
	if err != nil {
		return nil, err
	}
	minute, err := strconv.Atoi(minutes)
	if err != nil {
		return nil, err
	}
	if zone[0] == '-' {
		minute = -minute
	}
	return time.FixedZone("", (hour*60+minute)*60), nil
}

// address and network return the results of Kubernetes' functions ip and cidr.
func address(text string) (string, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("IP Address %q parse error during conversion from string: %v", text, err)
	case addr.Zone() != "":
		return "", fmt.Errorf("IP address %q with zone value is not allowed", text)
	case addr.Is4In6():
		return "", fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return addr.String(), nil
}

func network(text string) (string, error) {
	const context = "network address parse error during conversion from string"
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %s: %v", context, context, err)
	case prefix.Addr().Is4In6():
		return "", fmt.Errorf("%s: IPv4-mapped IPv6 address %q is not allowed", context, text)
	}
	return fmt.Sprintf("%s %s", prefix, prefix.Masked()), nil
}

// newParsers returns two of cel-go's parsers: one with the macros of this crate, and one with small limits.
func newParsers() (parse, strict *parser.Parser) {
	env, err := cel.NewEnv(cel.OptionalTypes(), ext.Bindings(), ext.TwoVarComprehensions(), ext.Lists())
	check(err)
	macros := parser.Macros(append(env.Macros(), parser.ExistsOneMacroNew)...)
	parse, err = parser.NewParser(macros, parser.EnableOptionalSyntax(true))
	check(err)
	strict, err = parser.NewParser(macros, parser.EnableIdentEscapeSyntax(true), parser.EnableHiddenAccumulatorName(false),
		parser.MaxRecursionDepth(12), parser.ErrorReportingLimit(4), parser.ErrorRecoveryLimit(3),
		parser.ErrorRecoveryLookaheadTokenLimit(3))
	check(err)
	return parse, strict
}

func parsed(text string, parse *parser.Parser) answer {
	tree, errors := parse.Parse(common.NewTextSource(text))
	if len(errors.GetErrors()) > 0 {
		return answer{Errors: errors.ToDisplayString()}
	}
	return answer{Tree: debug.ToAdornedDebugString(tree.Expr(), places{tree.SourceInfo()})}
}

// places adds the ID and the location of every node and entry to the output.
type places struct {
	info *ast.SourceInfo
}

func (p places) GetMetadata(item any) string {
	var id int64
	switch item := item.(type) {
	case ast.Expr:
		id = item.ID()
	case ast.EntryExpr:
		id = item.ID()
	}
	location := p.info.GetStartLocation(id)
	return fmt.Sprintf("^#%d[%d,%d]#", id, location.Line(), location.Column())
}
