//! Serves a small web until a line is entered, to be looked at with a browser that takes it for its HTTP proxy:
//! `cargo run -p herodotus-testweb --example serve`, then for instance
//! `curl --proxy http://127.0.0.1:<port> http://orchard-0.test/`. A number sets the round.

use herodotus_testweb::{Config, Server, Web};

fn main() -> std::io::Result<()> {
    let server = Server::start(Web::new(Config::default()))?;
    println!("proxy http://{}", server.addr());
    for host in server.web().hosts() {
        println!("http://{host}/");
    }
    for line in std::io::stdin().lines() {
        match line?.trim().parse() {
            Ok(round) => server.set_round(round),
            Err(_) => break,
        }
    }
    println!("{} requests answered", server.requests());
    Ok(())
}
