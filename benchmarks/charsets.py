"""Decoding by the Encoding Standard against Python's codec of the same name, on pages that both can read.

python benchmarks/charsets.py
"""

from __future__ import annotations

import statistics
import time

from pipeline.readers.encodings import decode

MARKUP = '<p class="text"><a href="/one/two">plain ASCII markup</a></p>\n'
TEXTS = {
    "shift_jis": ("cp932", "日本語の文章はここにあります。漢字とひらがなとカタカナが混ざっています。"),
    "euc-jp": ("euc_jp", "日本語の文章はここにあります。漢字とひらがなとカタカナが混ざっています。"),
    "iso-2022-jp": ("iso2022_jp", "日本語の文章はここにあります。漢字とひらがなとカタカナが混ざっています。"),
    "gbk": ("gb18030", "这盏灯的价格是五元，灯塔的故事很长，讲了很多年。"),
    "big5": ("big5", "這盞燈的價錢是五百，燈塔的故事很長，講了很多年。"),
    "euc-kr": ("cp949", "마을 사람들은 그 불빛을 보고 항구로 돌아왔습니다."),
    "windows-1251": ("cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю."),
    "windows-1252": ("cp1252", "Die Straße führt über die Brücke, schön grün."),
    "utf-8": ("utf-8", "Съешь же ещё этих мягких французских булок, да выпей чаю."),
}


def cost(work, runs: int = 21) -> float:
    """Return the median of the CPU seconds that `work` takes."""
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


if __name__ == "__main__":
    for encoding, (codec, text) in TEXTS.items():
        raw = ((text + MARKUP) * 5000).encode(codec)
        assert decode(raw, encoding) == raw.decode(codec)
        theirs, ours = (
            cost(lambda raw=raw, codec=codec: raw.decode(codec)),
            cost(lambda raw=raw, e=encoding: decode(raw, e)),
        )
        print(f"{encoding:13} {len(raw) / ours / 1e6:6.0f} MB/s; time against Python's {codec}: {ours / theirs:.2f}")
