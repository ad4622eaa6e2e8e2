//! Ten thousand connections, really dialled, against one node. Those who dial are a process of their own, this very program started once more,
//! so that what the node takes in memory can be looked at.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use herodotus_base::PeerKey;
use herodotus_net::{Address, Limits, limits};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use support::Machine;
use support::attacker::Attacker;
use tokio::task::JoinSet;

const DIALS: usize = 10_000;
/// They go on until the latecomer is in, but not for ever.
const DIALS_MAX: usize = DIALS * 5;
/// Addresses that they come from. One more, and together they could fill the mat: then nobody gets in before somebody's time is up.
const ADDRESSES: u8 = 3;
/// Dials of one address at once: twice as many as are let onto the mat.
const AT_ONCE: usize = limits::HANDSHAKES_PER_ADDRESS_MAX * 2;
/// By how much the node may grow from the first tenth of the dials to the last. If each dial left behind what a connection costs, 20 KB at
/// least, it would be 180 MB.
const GROWTH_BYTES_MAX: u64 = 64 << 20;
/// Where the crowd is to go: a key and an address.
const TO: &str = "HERODOTUS_CROWD_TO";

/// What the crowd did, as one process counts it and the other reads it.
#[derive(Default)]
struct Seen {
    begun: AtomicUsize,
    held: AtomicUsize,
    refused: AtomicUsize,
    is_enough: AtomicBool,
}

impl Seen {
    fn ended(&self) -> usize {
        self.held.load(SeqCst) + self.refused.load(SeqCst)
    }

    fn may_dial(&self) -> bool {
        let max = if self.is_enough.load(SeqCst) { DIALS } else { DIALS_MAX };
        self.begun.fetch_add(1, SeqCst) < max
    }

    async fn wait_for(&self, count: usize) {
        while self.ended() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn say(&self) {
        println!("crowd {} {}", self.held.load(SeqCst), self.refused.load(SeqCst));
    }

    fn hear(&self, line: &str) {
        let mut words = line.split_whitespace().skip(1).map(|word| word.parse().unwrap());
        self.held.store(words.next().unwrap(), SeqCst);
        self.refused.store(words.next().unwrap(), SeqCst);
    }
}

/// Dials until all have dialled often enough. Whom the node lets in says nothing and stays until it is put out.
async fn dial(last: u8, to: Address, seen: Arc<Seen>) {
    let attacker = Arc::new(Attacker::new(last).await);
    let mut dials = JoinSet::new();
    while seen.may_dial() {
        if dials.len() >= AT_ONCE {
            dials.join_next().await.unwrap().unwrap();
        }
        let (attacker, to, seen) = (attacker.clone(), to.clone(), seen.clone());
        dials.spawn(async move {
            let conn = attacker.try_connect(&to).await;
            let count = if conn.is_some() { &seen.held } else { &seen.refused };
            count.fetch_add(1, SeqCst);
            if seen.ended() % 100 == 0 {
                seen.say();
            }
            if let Some(conn) = conn {
                conn.closed().await;
            }
        });
    }
    while let Some(dial) = dials.join_next().await {
        dial.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other process of the test below, which starts it"]
async fn crowd() {
    let Ok(to) = std::env::var(TO) else { return };
    let (key, at) = to.split_once(' ').unwrap();
    let key = PeerKey(data_encoding::HEXLOWER.decode(key.as_bytes()).unwrap().try_into().unwrap());
    let to = Address::new(key, [at.parse().unwrap()]);
    let seen = Arc::new(Seen::default());
    // It is enough when nobody speaks to us any more.
    std::thread::spawn({
        let seen = seen.clone();
        move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            seen.is_enough.store(true, SeqCst);
        }
    });
    let dialling: Vec<_> = (0..ADDRESSES).map(|n| tokio::spawn(dial(10 + n, to.clone(), seen.clone()))).collect();
    for dialling in dialling {
        dialling.await.unwrap();
    }
    seen.say();
}

/// Starts the crowd. What it says is taken down until it ends.
fn start_crowd(to: &Address, seen: Arc<Seen>) -> (Child, std::thread::JoinHandle<()>) {
    let to = format!("{} {}", data_encoding::HEXLOWER.encode(&to.key.0), to.direct[0]);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crowd", "--ignored", "--nocapture"])
        .env(TO, to)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = std::thread::spawn(move || {
        lines.map_while(Result::ok).filter(|line| line.starts_with("crowd ")).for_each(|line| seen.hear(&line));
    });
    (child, reader)
}

/// What the process has in memory, where that can be read.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_dials_from_three_addresses_keep_no_member_out_and_leave_nothing_behind() {
    let one = Arc::new(Machine::owner(1, Limits::default()).await);
    let honest = Arc::new(Machine::join(&one, 2, Limits::default()).await);
    let late = Machine::join(&one, 3, Limits::default()).await;
    let seen = Arc::new(Seen::default());
    let (mut crowd, reader) = start_crowd(&one.address(), seen.clone());
    // A member asks all the time, and is answered every time.
    let (is_over, served) = (Arc::new(AtomicBool::default()), Arc::new(AtomicU64::default()));
    let asking = tokio::spawn({
        let (one, honest, is_over, served) = (one.clone(), honest.clone(), is_over.clone(), served.clone());
        async move {
            while !is_over.load(SeqCst) {
                one.must_answer(&honest).await;
                served.fetch_add(1, SeqCst);
            }
        }
    });
    seen.wait_for(DIALS / 10).await;
    let before = resident_bytes();
    seen.wait_for(DIALS / 3).await;
    // One that has a pass and no connection yet finds the door open in the midst of it. On a busy machine it may take more than one attempt.
    let mut attempts = 1;
    while late.echo(&one, b"well?").await.is_err() {
        assert!(seen.ended() < DIALS_MAX, "the door stayed shut");
        attempts += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(crowd.stdin.take());
    let ended = tokio::task::spawn_blocking(move || (reader.join(), crowd.wait().unwrap())).await.unwrap();
    let after = resident_bytes();
    is_over.store(true, SeqCst);
    asking.await.unwrap();
    assert!(ended.0.is_ok() && ended.1.success());
    let (held, refused) = (seen.held.load(SeqCst), seen.refused.load(SeqCst));
    println!("{held} held, {refused} refused, {} calls served meanwhile", served.load(SeqCst));
    println!("the latecomer was in after {attempts} attempts");
    println!("{} turned away; {before:?} bytes resident, then {after:?}", one.endpoint.turned_away());
    assert!(held + refused >= DIALS);
    assert!(held > 0 && one.endpoint.turned_away() > 0 && served.load(SeqCst) > 0);
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after.saturating_sub(before) <= GROWTH_BYTES_MAX, "{before} bytes became {after}");
    }
    // Nobody of them is left, and the mat is free again.
    assert!(one.endpoint.peers().iter().all(|peer| peer.key == honest.key() || peer.key == late.key()));
    for last in 10..10 + ADDRESSES {
        assert!(Attacker::new(last).await.try_connect(&one.address()).await.is_some());
    }
    one.must_answer(&honest).await;
}
