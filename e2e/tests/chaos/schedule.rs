//! Sequence of faults.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use e2e::Network;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep, timeout};

use super::client::{self, Record};
use super::control_plane::ControlPlane;
use super::history::History;
use super::memory::Memory;
use super::random::Random;
use super::world::World;
use super::{calls, watcher};

const CLIENTS: usize = 50;
const WATCHERS: usize = 8;
/// Timeout for the clients to stop.
const END_MAX: Duration = Duration::from_secs(90);
/// Pause between two faults.
const PAUSE: Duration = Duration::from_secs(1);
/// Time after a fault in which its effects can still be observed: a client's timeout.
const AFTERMATH: Duration = Duration::from_secs(6);
const SECONDS: u64 = 45;
/// Pause between the requests of one client, in milliseconds.
const PAUSE_MILLIS: u64 = 40;
/// Maximum duration of a network partition, in addition to the minimum of half a second.
const CUT_MAX: Duration = Duration::from_secs(10);

const MEMBERS: usize = 3;

const FAULTS: [&str; 11] = [
    "a server is restarted as planned",
    "a server is killed",
    "a server stops for a while",
    "a member of etcd is killed",
    "a member of etcd stops for a while",
    "a server and a member of etcd are killed",
    "a server is restarted as planned while a member of etcd is away",
    "a server and a member of etcd are cut off from each other",
    "a server and all members of etcd are cut off from each other",
    "a server and the balancer are cut off from each other",
    "the connections of a server to etcd are forgotten",
];

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_observations_match_history() {
    let seed = number("CHAOS_SEED", u64::from(std::process::id()));
    let seconds = number("CHAOS_SECONDS", SECONDS);
    println!("CHAOS_SEED={seed} CHAOS_SECONDS={seconds}");
    let mut world = World::start().await;
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "chaos"}})).unwrap();
    Api::all(world.client()).create(&PostParams::default(), &namespace).await.unwrap();
    let pause = Duration::from_millis(number("CHAOS_PAUSE", PAUSE_MILLIS));
    let record = Arc::new(Record::new(pause));
    let mut tasks = JoinSet::new();
    let mut memory = Memory::default();
    let others = ControlPlane::start(&world, Random::new(!seed)).await;
    for n in 0..CLIENTS {
        let random = Random::new(seed.wrapping_add(u64::try_from(n).unwrap() << 32));
        tasks.spawn(client::run(world.client(), record.clone(), random));
    }
    for _ in 0..WATCHERS {
        tasks.spawn(watcher::run(world.client(), record.clone()));
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::new(seed);
    // Every fault happens once before any is repeated.
    let mut ahead: Vec<usize> = Vec::new();
    while Instant::now() < end {
        if ahead.is_empty() {
            ahead.extend(0..FAULTS.len());
        }
        let fault_index = ahead.swap_remove(random.below(ahead.len()));
        let server = random.below(3);
        let member = random.below(MEMBERS);
        let cut = Cut::any(&mut random);
        println!("{:?} left: {} ({server}, {member}, {cut:?})", end - Instant::now(), FAULTS[fault_index]);
        match fault_index {
            7.. => cut_off(&world, fault_index, server, member, cut).await,
            _ => fault(&mut world, &record, fault_index, server, member).await,
        }
        world.settle();
        sleep(PAUSE).await;
        memory.sample(&mut world.servers);
    }
    record.stop.store(true, Ordering::SeqCst);
    let ended = async { while tasks.join_next().await.transpose().unwrap().is_some() {} };
    timeout(END_MAX, ended).await.expect("clients and watches come to their end");
    if let Some(others) = others {
        others.settle().await;
    }
    println!("{}", memory.report());
    judge(&world, &record).await;
}

async fn fault(world: &mut World, record: &Record, fault_index: usize, server: usize, member: usize) {
    let a_while = Duration::from_secs(2);
    match fault_index {
        0 => {
            sleep(AFTERMATH).await;
            record.planned.store(true, Ordering::SeqCst);
            world.restart(server);
            world.settle();
            record.planned.store(false, Ordering::SeqCst);
        }
        1 => {
            world.kill(server);
            sleep(a_while).await;
            world.start_again(server);
        }
        2 => {
            world.signal(server, "STOP");
            sleep(a_while * 2).await;
            world.signal(server, "CONT");
        }
        3 => {
            block_in_place(|| world.etcd.kill(member));
            sleep(a_while).await;
            block_in_place(|| world.etcd.restart(member));
        }
        4 => {
            world.etcd.signal(member, "STOP");
            sleep(a_while).await;
            world.etcd.signal(member, "CONT");
        }
        5 => {
            block_in_place(|| world.etcd.kill(member));
            world.kill(server);
            sleep(a_while).await;
            block_in_place(|| world.etcd.restart(member));
            world.start_again(server);
        }
        _ => {
            block_in_place(|| world.etcd.kill(member));
            world.restart(server);
            block_in_place(|| world.etcd.restart(member));
        }
    }
}

/// A network partition.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Affected direction, or both.
    network: Network,
    time: Duration,
}

impl Cut {
    fn any(random: &mut Random) -> Self {
        let networks = [Network::Silent, Network::Deaf, Network::Mute];
        let millis = 500 + random.below(CUT_MAX.as_millis().try_into().unwrap());
        let time = Duration::from_millis(millis.try_into().unwrap());
        Cut { network: networks[random.below(networks.len())], time }
    }
}

async fn cut_off(world: &World, fault_index: usize, server: usize, member: usize, cut: Cut) {
    let set = |network| match fault_index {
        7 => world.between(server, member, network),
        8 => (0..MEMBERS).for_each(|member| world.between(server, member, network)),
        9 => world.front(server, network),
        _ if network != Network::Clear => world.forget(server),
        _ => {}
    };
    set(cut.network);
    sleep(cut.time).await;
    set(Network::Clear);
}

async fn judge(world: &World, record: &Record) {
    let history = History::read(&world.etcd.urls(), "/registry/configmaps/chaos/").await;
    let noted = record.take();
    let failures = record.failures.load(Ordering::Relaxed);
    println!("{} changes, {} answers and watches, {failures} failures", history.len(), noted.len());
    assert!(noted.len() > 1_000, "clients did something");
    let violations = history.violations(noted.iter().map(|noted| &noted.observation));
    println!("{} violations", violations.len());
    let shown: Vec<_> = violations.iter().take(20).collect();
    assert!(violations.is_empty(), "{} violations: {shown:#?}", violations.len());
    println!("{}", block_in_place(|| calls::judge(&noted, &history, &world.path("calls"))).trim_end());
    let failed_in_plan = record.failed_in_plan.lock().unwrap();
    assert!(failed_in_plan.is_empty(), "failed in a planned restart: {failed_in_plan:#?}");
}
