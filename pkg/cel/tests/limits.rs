//! Evaluations of hostile expressions terminate without panics: by the cost limit, or by bounds on memory and
//! steps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;

use cel::arena::Arena;
use cel::compile::compile;
use cel::env::Environment;
use cel::eval::{Cancel, PER_CALL_LIMIT, evaluate};
use cel::overloads::Libraries;
use cel::plan::Plan;
use cel::types::Type;
use cel::value::{Value, text};
use jsontree::{Value as Json, json};

/// A value, or the text of the error.
type Outcome<T> = Result<T, String>;

const COST_LIMIT: &str = "operation cancelled: actual cost limit exceeded";

fn plan(expression: &str) -> Outcome<Plan> {
    let env = Environment::of_release(36).with(Libraries::BINDINGS).variable("object", Type::DYN);
    Plan::new(&compile(&env, expression).map_err(|error| error.to_string())?, &["object"])
        .map_err(|error| error.to_string())
}

/// Returns the text of the value or error, and the cost.
fn run(plan: &Plan, object: &Json, limit: u64) -> (Outcome<String>, u64) {
    let arena = Arena::new();
    let evaluation = evaluate(plan, &[Some(Value::tree(object))], &arena, limit, None);
    (evaluation.result().map(text).map_err(|error| error.to_string()), evaluation.cost)
}

fn outcome(expression: &str) -> Outcome<String> {
    let plan = plan(expression).unwrap();
    run(&plan, &json!({"list": [1, 2, 3], "text": "abc"}), PER_CALL_LIMIT).0
}

/// Wraps `expression` in bindings of `a1` to `a{levels}`, each computed from the previous one.
fn bound(first: &str, levels: usize, step: impl Fn(&str) -> String, expression: &str) -> String {
    let mut out = format!("cel.bind(a0, {first}, ");
    for level in 1..=levels {
        let _ = write!(out, "cel.bind(a{level}, {}, ", step(&format!("a{}", level - 1)));
    }
    out + expression + &")".repeat(levels + 1)
}

#[test]
fn doubled_texts_end_at_the_cost_limit() {
    let twice = |last: &str| format!("{last} + {last}");
    assert_eq!(outcome(&bound("object.text", 40, twice, "a40.size()")), Err(COST_LIMIT.into()));
}

#[test]
fn doubled_lists_are_compared_within_bounds() {
    let twice = |last: &str| format!("{last} + {last}");
    let lists = bound("object.list", 40, twice, "a40 == a40");
    assert_eq!(outcome(&lists), Err(COST_LIMIT.into()));
    assert_eq!(outcome(&bound("object.list", 40, twice, "a40.size()")), Ok((3_u64 << 40).to_string()));
    assert_eq!(outcome(&bound("object.list", 40, twice, "a40.distinct()")), Err(COST_LIMIT.into()));
    assert_eq!(outcome(&bound("object.list", 40, twice, "[a40].flatten()")), Err(COST_LIMIT.into()));
}

#[test]
fn nested_lists_are_compared_within_bounds() {
    let pair = |last: &str| format!("[{last}, {last}]");
    assert_eq!(outcome(&bound("object.list", 40, pair, "dyn(a40) == dyn(a40)")), Err(COST_LIMIT.into()));
    assert_eq!(outcome(&bound("object.list", 40, pair, "'%s'.format([a40])")), Err(COST_LIMIT.into()));
}

#[test]
fn deep_values_are_compared_on_a_small_stack() {
    let deeper = |last: &str| format!("dyn({}{last}{})", "[".repeat(20), "]".repeat(20));
    assert_eq!(outcome(&bound("object.list", 40, deeper, "a40 == a40")), Err(COST_LIMIT.into()));
    assert!(outcome(&bound("object.list", 40, deeper, "{'a': a40}[a39]")).is_err());
}

#[test]
fn replacements_do_not_fill_memory() {
    let grown = bound("'aaaaaaaa'", 30, |last| format!("{last}.replace('a', 'aaaaaaaa')"), "a30.size()");
    assert_eq!(outcome(&grown), Err(COST_LIMIT.into()));
    let square =
        bound("'a'.replace('', 'aaaa')", 10, |last| format!("{last}.replace('a', {last})"), "a10.size()");
    assert_eq!(outcome(&square), Err(COST_LIMIT.into()));
}

#[test]
fn long_ranges_are_rejected() {
    assert_eq!(outcome("lists.range(9223372036854775807).size()"), Err(COST_LIMIT.into()));
    assert_eq!(outcome("lists.range(1000).size()"), Ok("1000".into()));
    let negative = "lists.range: size must be non-negative, got -1";
    assert_eq!(outcome("lists.range(-1).size()"), Err(negative.into()));
}

#[test]
fn deep_expressions_run_on_a_small_stack() {
    assert_eq!(outcome(&format!("object.list[0]{}", " + 1".repeat(200))), Ok("201".into()));
    let nested = format!("{}object.text{}", "[".repeat(80), "]".repeat(80));
    assert!(outcome(&format!("{nested} == {nested}")).is_ok());
    let choices = format!("{}0{}", "true ? (".repeat(60), ") : 1".repeat(60));
    assert_eq!(outcome(&choices), Ok("0".into()));
    let maps = format!("{}object.list{}", "object.list.map(x, ".repeat(9), ")".repeat(9));
    assert_eq!(outcome(&format!("{maps}.size()")), Ok("3".into()));
}

struct AlwaysCancelled;

impl Cancel for AlwaysCancelled {
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn free_loops_end_when_they_are_cancelled() {
    let plan = plan("object.exists_one(a, object.exists_one(b, object.exists_one(c, false)))").unwrap();
    let object = Json::from_iter(0..1000);
    let arena = Arena::new();
    let evaluation =
        evaluate(&plan, &[Some(Value::tree(&object))], &arena, PER_CALL_LIMIT, Some(&AlwaysCancelled));
    assert_eq!(evaluation.result().map(text).unwrap_err().to_string(), "operation interrupted");
}

/// Random typed expressions from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn bool(&mut self, depth: u32) -> String {
        if depth == 0 {
            return ["true", "false", "object.list == [1, 2, 3]", "has(object.absent)"]
                [self.below(4) as usize]
                .into();
        }
        let depth = depth - 1;
        match self.below(10) {
            0 => format!("({} && {})", self.bool(depth), self.bool(depth)),
            1 => format!("({} || {})", self.bool(depth), self.bool(depth)),
            2 => format!(
                "{} {} {}",
                self.int(depth),
                ["<", "<=", "==", "!="][self.below(4) as usize],
                self.int(depth)
            ),
            3 => format!("{}.all(x, x < {})", self.list(depth), self.int(depth)),
            4 => format!("{}.exists_one(x, {} == x)", self.list(depth), self.int(depth)),
            5 => format!("{}.contains({})", self.text(depth), self.text(depth)),
            6 => format!("{} in {}", self.int(depth), self.list(depth)),
            7 => format!("!({})", self.bool(depth)),
            8 => format!("{}.matches('^[a-c]*{}$')", self.text(depth), self.below(9)),
            _ => format!("({} ? {} : {})", self.bool(depth), self.bool(depth), self.bool(depth)),
        }
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 {
            return ["0", "1", "-7", "9223372036854775807", "object.list[1]", "object.list[9]"]
                [self.below(6) as usize]
                .into();
        }
        let depth = depth - 1;
        match self.below(8) {
            0 => format!(
                "({} {} {})",
                self.int(depth),
                ["+", "-", "*", "/", "%"][self.below(5) as usize],
                self.int(depth)
            ),
            1 => format!("{}.size()", self.list(depth)),
            2 => format!("{}.size()", self.text(depth)),
            3 => format!("({} ? {} : {})", self.bool(depth), self.int(depth), self.int(depth)),
            4 => format!("{}[{}]", self.list(depth), self.below(4)),
            5 => format!("{}.sum()", self.list(depth)),
            6 => format!("{}[?{}].orValue({})", self.list(depth), self.below(4), self.int(depth)),
            _ => format!("cel.bind(y, {}, y + y)", self.int(depth)),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        if depth == 0 {
            return ["''", "'abc'", "'héllo'", "object.text", "object.absent.text"][self.below(5) as usize]
                .into();
        }
        let depth = depth - 1;
        match self.below(7) {
            0 => format!("({} + {})", self.text(depth), self.text(depth)),
            1 => format!("string({})", self.int(depth)),
            2 => format!("{}.substring({})", self.text(depth), self.below(4)),
            3 => format!("{}.replace('a', {})", self.text(depth), self.text(depth)),
            4 => format!("{}.map(x, string(x)).join({})", self.list(depth), self.text(depth)),
            5 => format!("'%s %d'.format([{}, {}])", self.text(depth), self.int(depth)),
            _ => format!("({} ? {} : {})", self.bool(depth), self.text(depth), self.text(depth)),
        }
    }

    fn list(&mut self, depth: u32) -> String {
        if depth == 0 {
            return ["[]", "[1, 2]", "object.list", "object.absent"][self.below(4) as usize].into();
        }
        let depth = depth - 1;
        match self.below(8) {
            0 => format!("({} + {})", self.list(depth), self.list(depth)),
            1 => format!("{}.map(x, x + {})", self.list(depth), self.int(depth)),
            2 => format!("{}.filter(x, x > {})", self.list(depth), self.int(depth)),
            3 => format!("[{}, {}]", self.int(depth), self.int(depth)),
            4 => format!("{}.transformList(i, x, i * x)", self.list(depth)),
            5 => format!("{}.distinct()", self.list(depth)),
            6 => format!("lists.range({})", self.below(50)),
            _ => format!("({} ? {} : {})", self.bool(depth), self.list(depth), self.list(depth)),
        }
    }
}

#[test]
fn random_costs_are_independent_of_the_limit() {
    let object = json!({"list": [1, 2, 3], "text": "abc"});
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut ran = 0;
    for round in 0..2000 {
        let expression = random.bool(2 + round % 4);
        let Ok(plan) = plan(&expression) else { continue };
        ran += 1;
        let (result, cost) = run(&plan, &object, PER_CALL_LIMIT);
        assert_eq!(run(&plan, &object, PER_CALL_LIMIT), (result.clone(), cost), "{expression}");
        if result == Err(COST_LIMIT.into()) {
            continue;
        }
        assert!(cost <= PER_CALL_LIMIT, "{expression}");
        assert_eq!(run(&plan, &object, cost), (result, cost), "{expression}");
        if cost > 0 {
            let (result, aborted) = run(&plan, &object, cost - 1);
            assert_eq!((result, aborted >= cost), (Err(COST_LIMIT.into()), true), "{expression}");
        }
    }
    assert!(ran > 1500, "{ran}");
}
