"""Crawls a site with scrapy and keeps the bodies of everything: crawl.py SEED FOLDER CONCURRENCY."""

import pathlib
import sys
import urllib.parse

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SEED, FOLDER, CONCURRENCY = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])


class Site(scrapy.Spider):
    name = "site"
    start_urls = [SEED]
    allowed_domains = [urllib.parse.urlsplit(SEED).hostname]
    links = LinkExtractor(
        tags=("a", "area", "img", "link", "script", "iframe"), attrs=("href", "src"), deny_extensions=[]
    )

    def parse(self, response):
        self.kept = getattr(self, "kept", 0) + 1
        (FOLDER / str(self.kept)).write_bytes(response.body)
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in self.links.extract_links(response):
                yield scrapy.Request(link.url)


FOLDER.mkdir()
process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "CRITICAL",
    }
)
process.crawl(Site)
process.start()
