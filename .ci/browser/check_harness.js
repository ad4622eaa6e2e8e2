// The harness itself: a trap that catches nothing proves nothing.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { comparePng, launchBrowser, recordNetwork, startTrap, until } from './harness.js';

test('the trap hears requests, silent connections, packets and looked-up names of a page that is not archived', async () => {
    const trap = await startTrap();
    const server = http.createServer((_, response) =>
        response
            .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': "frame-src 'self'" })
            .end('<p>live</p>'),
    );
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    const { browser, close } = await launchBrowser(trap);
    const page = await browser.newPage();
    const urls = recordNetwork(page);
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.evaluate(async port => {
        await fetch('http://plain.example/asked', { mode: 'no-cors' });
        await fetch('https://tls.example/', { mode: 'no-cors' }).catch(() => {});
        // Refused by the policy, but not before a connection has been opened.
        const frame = document.body.appendChild(document.createElement('iframe'));
        await new Promise(done => {
            frame.onload = done;
            frame.src = '/inner';
        });
        frame.contentWindow.location = 'http://ahead.example/';
        // Kept, or it might be collected before it has sent anything.
        window.peer = new RTCPeerConnection({ iceServers: [{ urls: `stun:127.0.0.1:${port}` }] });
        peer.createDataChannel('x');
        await peer.setLocalDescription();
    }, trap.udpPort);
    await until(trap.events, 'heard', () => trap.seen.some(line => line.startsWith('UDP ')), 'a packet');
    server.close();
    const names = await close();
    await trap.close();
    assert.deepEqual(names, ['ahead.example', 'plain.example', 'tls.example']);
    assert.ok(urls.includes('http://plain.example/asked'));
    assert.ok(
        trap.requests().some(line => line.startsWith('TCP GET /asked ')),
        trap.seen.join(),
    );
    assert.ok(
        trap.requests().some(line => line.startsWith('UDP ')),
        trap.seen.join(),
    );
    assert.ok(
        trap.seen.some(line => line === 'TCP hello of TLS'),
        trap.seen.join(),
    );
});

test('screenshots are compared pixel by pixel', async () => {
    const trap = await startTrap();
    const { browser, close } = await launchBrowser(trap);
    const page = await browser.newPage({ viewport: { width: 200, height: 100 } });
    const shot = async html => {
        await page.setContent(`<style>body { margin: 0 } div { position: absolute; background: red }</style>${html}`);
        return page.screenshot();
    };
    const empty = await shot('');
    const square = await shot('<div style="left: 10px; top: 10px; width: 20px; height: 10px"></div>');
    const gradient = await shot('<div style="inset: 0; background: linear-gradient(90deg, blue, yellow)"></div>');
    await page.setViewportSize({ width: 100, height: 100 });
    const smaller = await shot('');
    await close();
    await trap.close();
    assert.deepEqual(comparePng(empty, empty), { pixels: 20000, different: 0, fraction: 0 });
    assert.equal(comparePng(empty, square).different, 200);
    assert.equal(comparePng(gradient, gradient).different, 0);
    assert.equal(comparePng(empty, gradient).fraction, 1);
    assert.equal(comparePng(empty, smaller).fraction, 1);
});
