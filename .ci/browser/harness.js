// What the browser checks share: a Chromium for which the live web is a trap, the trap, and a comparison of screenshots.
// Checks against the real server use the same. Their sites have names under `.example` or `.test`: those lead into the
// trap, other names nowhere, because a browser has errands of its own that would hide what we look for.
//
// The trap promises to see every attempt to reach the live web: TCP connections (with the first bytes, so that one knows
// what they wanted), UDP packets, and, from the browser's own network log once it is closed, the names it looked up or connected to.

import dgram from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';

const LIVE = ['*.example', '*.test', '192.0.2.*', '198.51.100.*', '203.0.113.*'];

const modules = process.env.HERODOTUS_BROWSER_MODULES ?? path.join(os.homedir(), '.cache/herodotus-ci/browser');
const { chromium } = createRequire(modules + '/')('playwright-core');

/** Listens where the live web would be. `seen` has a line per TCP connection or UDP packet; `events` emits `heard`. */
export async function startTrap() {
    const seen = [];
    const events = new EventEmitter();
    const sockets = new Set();
    const tcp = net.createServer(socket => {
        const at = seen.push('TCP connection without a word') - 1;
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
        socket.once('data', data => {
            // Which name a TLS hello is for is told by the browser's log; it may come in pieces.
            const text = data.toString('latin1').replace(/[^\x20-\x7e]+/g, ' ');
            seen[at] = data[0] === 22 ? 'TCP hello of TLS' : 'TCP ' + text.slice(0, 300);
            socket.end(
                'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>the live web</title>',
            );
        });
    });
    const udp = dgram.createSocket('udp4', (data, from) => {
        seen.push(`UDP ${data.length} bytes from port ${from.port}`);
        events.emit('heard');
    });
    tcp.listen(0, '127.0.0.1');
    udp.bind(0, '127.0.0.1');
    await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
    return {
        port: tcp.address().port,
        udpPort: udp.address().port,
        seen,
        events,
        /** Those who asked for something. A browser also opens connections on mere suspicion, and says nothing on them. */
        requests: () => seen.filter(line => /^(?:UDP|TCP [A-Z]+ )/.test(line)),
        async close() {
            for (const socket of sockets) socket.destroy();
            udp.close();
            tcp.close();
            await once(tcp, 'close');
        },
    };
}

/**
 * A headless Chromium whose live web is the trap. `close()` ends it and gives the names of the live web that it looked up.
 * With `everyday`, `context` is that of a profile on disk, in which Chromium connects ahead of need as it does for people;
 * otherwise `browser` makes contexts that share nothing. `own` are addresses of this machine, which are not the live web.
 */
export async function launchBrowser(trap, { everyday = false, own = [] } = {}) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'herodotus-browser-'));
    const log = path.join(folder, 'net.json');
    const live = LIVE.map(name => `MAP ${name} 127.0.0.1:${trap.port}`);
    const here = ['localhost', '*.localhost', '127.0.0.1', ...own.filter(Boolean)].map(name => `EXCLUDE ${name}`);
    const options = {
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        ignoreDefaultArgs: everyday ? ['--disable-background-networking'] : [],
        args: [
            `--host-resolver-rules=${live}, MAP * ~NOTFOUND, ${here}`,
            `--log-net-log=${log}`,
            // In a container the root user has no namespaces to make a sandbox of; the pages are our own.
            '--no-sandbox',
            '--disable-quic',
        ],
    };
    const context = everyday
        ? await chromium.launchPersistentContext(path.join(folder, 'profile'), options)
        : undefined;
    const browser = context ? context.browser() : await chromium.launch(options);
    return {
        browser,
        context,
        async close() {
            await (context ?? browser).close();
            const text = fs.readFileSync(log, 'utf8');
            fs.rmSync(folder, { recursive: true });
            const names = new Set();
            // By the lookup, and by the URL that a connection was wanted for: one made ahead of need is not looked up here,
            // since the rules above have turned its name into an address before.
            const lookups = /"(?:host|hostname)":"(?:[a-z]+:\/\/)?(\[[^\]]*\]|[^":/]+)(?::\d+)?"/g;
            const connections = /"is_preconnect":[^{}]*?"url":"[a-z]+:\/\/([^":/?#]+)/g;
            for (const [, host] of [...text.matchAll(lookups), ...text.matchAll(connections)]) {
                if (/\.(?:example|test)$/.test(host)) names.add(host);
            }
            return [...names].sort();
        },
    };
}

/** Every URL that the page or its frames ask for from now on, as the browser tells. */
export function recordNetwork(page) {
    const urls = [];
    page.on('request', request => urls.push(request.url()));
    page.on('websocket', socket => urls.push(socket.url()));
    return urls;
}

/** Resolves when `condition()` holds, looking again whenever `emitter` says that something happened. */
export async function until(emitter, event, condition, what, millisMax = 10_000) {
    const signal = AbortSignal.timeout(millisMax);
    for (;;) {
        const held = condition();
        if (held) return held;
        try {
            await once(emitter, event, { signal });
        } catch {
            throw new Error(`did not happen within ${millisMax} ms: ${what}`);
        }
    }
}

/** How many pixels differ by more than `tolerance` in any channel. Screenshots of different size differ wholly. */
export function comparePng(one, other, tolerance = 8) {
    const [a, b] = [decodePng(one), decodePng(other)];
    const pixels = Math.max(a.width * a.height, b.width * b.height);
    if (a.width !== b.width || a.height !== b.height) return { pixels, different: pixels, fraction: 1 };
    let different = 0;
    for (let at = 0; at < a.data.length; at += 4) {
        for (let channel = 0; channel < 4; channel++) {
            if (Math.abs(a.data[at + channel] - b.data[at + channel]) > tolerance) {
                different++;
                break;
            }
        }
    }
    return { pixels, different, fraction: pixels === 0 ? 0 : different / pixels };
}

/** Eight bits per channel, RGB or RGBA, not interlaced: what browsers' screenshots are. Gives RGBA. */
export function decodePng(png) {
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    const [depth, color, , , interlace] = png.subarray(24, 29);
    const channels = { 2: 3, 6: 4 }[color];
    if (depth !== 8 || !channels || interlace !== 0) throw new Error('not a PNG as screenshots are');
    const parts = [];
    for (let at = 8; at < png.length;) {
        const length = png.readUInt32BE(at);
        if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
        at += length + 12;
    }
    const packed = zlib.inflateSync(Buffer.concat(parts));
    const stride = width * channels;
    const lines = Buffer.alloc(stride * height);
    const data = Buffer.alloc(width * height * 4, 255);
    for (let y = 0; y < height; y++) {
        const filter = packed[y * (stride + 1)];
        for (let x = 0; x < stride; x++) {
            const left = x >= channels ? lines[y * stride + x - channels] : 0;
            const up = y > 0 ? lines[(y - 1) * stride + x] : 0;
            const corner = x >= channels && y > 0 ? lines[(y - 1) * stride + x - channels] : 0;
            const guess =
                filter === 0
                    ? 0
                    : filter === 1
                      ? left
                      : filter === 2
                        ? up
                        : filter === 3
                          ? (left + up) >> 1
                          : paeth(left, up, corner);
            const value = (packed[y * (stride + 1) + 1 + x] + guess) & 255;
            lines[y * stride + x] = value;
            data[(y * width + Math.floor(x / channels)) * 4 + (x % channels)] = value;
        }
    }
    return { width, height, data };
}

function paeth(left, up, corner) {
    const a = Math.abs(up - corner);
    const b = Math.abs(left - corner);
    const c = Math.abs(left + up - 2 * corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}
