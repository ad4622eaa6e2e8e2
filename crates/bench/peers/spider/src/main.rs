//! Crawls a site with `spider` as its documentation shows, into a WARC file: `peer-spider SEED FILE CONCURRENCY`.

use spider::utils::warc::WarcConfig;
use spider::website::Website;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(seed), Some(path), Some(concurrency)) = (arguments.next(), arguments.next(), arguments.next()) else {
        panic!("usage: peer-spider SEED FILE CONCURRENCY");
    };
    let mut website = Website::new(&seed);
    website
        .with_concurrency_limit(concurrency.parse().ok())
        .with_delay(0)
        .with_respect_robots_txt(false)
        .with_user_agent(Some("peer-spider"))
        .configuration
        .with_warc(WarcConfig { path, ..WarcConfig::default() });
    website.crawl().await;
    website.unsubscribe();
    let writer = website.get_warc_writer().expect("a WARC file was asked for").clone();
    writer.flush().await.expect("the WARC file is written");
    println!("{} records", website.warc_record_count());
}
