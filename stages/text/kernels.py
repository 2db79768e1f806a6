"""Kernels over a document's words: flat arrays in, numbers out. Beside each, its tests hold a plain reference."""

from __future__ import annotations

import numpy as np
from numba import njit

BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xFF51AFD7ED558CCD)


@njit(cache=True, nogil=True)
def hash_words(codes, lengths):
    """Return the polynomial hash (wrapping uint64) and base ** length of consecutive words.

    Args:
        codes: uint32, code points of all words one after another.
        lengths: int32, shape (words,).
    """
    hashes = np.empty(len(lengths), np.uint64)
    powers = np.empty(len(lengths), np.uint64)
    at = 0
    for word in range(len(lengths)):
        h = np.uint64(0)
        p = np.uint64(1)
        for _ in range(lengths[word]):
            h = h * BASE + np.uint64(codes[at]) + np.uint64(1)
            p *= BASE
            at += 1
        hashes[word] = h
        powers[word] = p
    return hashes, powers


@njit(cache=True, nogil=True)
def expand(chunks, start, count, word_of):
    """Return int32: the words of `chunks` one after another."""
    total = 0
    for chunk in chunks:
        total += count[chunk]
    words = np.empty(total, np.int32)
    at = 0
    for chunk in chunks:
        first = start[chunk]
        for k in range(count[chunk]):
            words[at] = word_of[first + k]
            at += 1
    return words


@njit(cache=True, nogil=True)
def meetings(chunks, edges):
    """Return int64: each place where a chunk whose edge has bit 1 stands before one whose edge has bit 2."""
    found = np.empty(len(chunks), np.int64)
    at = 0
    for i in range(len(chunks) - 1):
        if edges[chunks[i]] & 1 and edges[chunks[i + 1]] & 2:
            found[at] = i
            at += 1
    return found[:at]


@njit(cache=True, nogil=True)
def count_words(words, length, flags):
    """Return (words that are no symbols, their code points, words with a letter, words of scripts without spaces)."""
    non_symbol = 0
    characters = 0
    alphabetic = 0
    unspaced = 0
    for word in words:
        flag = flags[word]
        if flag & 1:
            non_symbol += 1
            characters += length[word]
        if flag & 2:
            alphabetic += 1
        if flag & 16:
            unspaced += 1
    return non_symbol, characters, alphabetic, unspaced


@njit(cache=True, nogil=True)
def count_distinct(words, wanted):
    """Return how many of the numbers `wanted` occur in `words`."""
    found = 0
    for one in wanted:
        for word in words:
            if word == one:
                found += 1
                break
    return found


@njit(cache=True, nogil=True)
def count_known(hashes, length, at, code, wanted_hashes, wanted_length, wanted_code):
    """Return how many of some strings are among a text's different words.

    Args:
        hashes, length, at, code: of the text's different words.
        wanted_hashes, wanted_length: of the strings, and `wanted_code` their code points one after another.
    """
    found = 0
    start = 0
    for one in range(len(wanted_hashes)):
        for word in range(len(hashes)):
            if hashes[word] == wanted_hashes[one] and length[word] == wanted_length[one]:
                same = True
                for k in range(length[word]):
                    if code[at[word] + k] != wanted_code[start + k]:
                        same = False
                        break
                if same:
                    found += 1
                    break
        start += wanted_length[one]
    return found


@njit(cache=True, nogil=True)
def sentences_between(bounds, starts, numbers, flags):
    """Return int32, shape (pieces,): sentences in each piece of a text.

    A new sentence begins at the first word, after a mark that ends one, that is neither such a mark nor punctuation.

    Args:
        bounds: int64, shape (pieces + 1,): where pieces begin and the last ends, in code points.
        starts, numbers: int32, shape (words,): where each word begins, and its number.
        flags: uint8, by number.
    """
    counts = np.ones(len(bounds) - 1, np.int32)
    word = 0
    for piece in range(len(counts)):
        ended = False
        while word < len(starts) and starts[word] < bounds[piece + 1]:
            flag = flags[numbers[word]]
            if flag & 4:
                ended = True
            elif ended and not flag & 8:
                counts[piece] += 1
                ended = False
            word += 1
    return counts


@njit(cache=True, nogil=True)
def line_sentences(bounds, offsets, gaps, chunks, start, count, word_of, flags):
    """Return int32, shape (lines,): sentences in each line, by chunks; arguments as in `sentence_ends`.

    Args:
        bounds: int64, shape (lines + 1,): where lines begin and the last ends, in code points.
    """
    counts = np.ones(len(bounds) - 1, np.int32)
    i = 0
    for line in range(len(counts)):
        ended = False
        inside = False
        while i < len(chunks) and offsets[i] < bounds[line + 1]:
            if gaps[i] and ended and inside:
                counts[line] += 1
                ended = False
            inside = True
            for k in range(count[chunks[i]]):
                flag = flags[word_of[start[chunks[i]] + k]]
                if flag & 4:
                    ended = True
                elif ended and not flag & 8:
                    counts[line] += 1
                    ended = False
            i += 1
    return counts


@njit(cache=True, nogil=True)
def word_sentences(starts, numbers, length, flags):
    """Return int64: where each sentence but the last ends, by words alone; arguments as in `sentences_between`."""
    found: list = [np.int64(0) for _ in range(0)]
    ended = False
    for word in range(len(starts)):
        flag = flags[numbers[word]]
        if flag & 4:
            ended = True
        elif ended and not flag & 8:
            found.append(np.int64(starts[word - 1] + length[numbers[word - 1]]))
            ended = False
    return np.array(found, np.int64)


@njit(cache=True, nogil=True)
def sentence_ends(chunks, offsets, gaps, start, count, word_of, length, flags):
    """Return int64: where each sentence but the last ends, in code points.

    A new sentence begins at the first word, after a mark that ends one, that is neither such a mark nor punctuation.

    Args:
        chunks: int32, shape (chunks,): the text's chunks.
        offsets: int64, shape (chunks,): where each begins in the text.
        gaps: bool, shape (chunks + 1,): whether a token of white space stands before each chunk, and at the end.
        start, count, word_of: the words of each chunk, as a vocabulary has them.
        length, flags: by word.
    """
    found: list = [np.int64(0) for _ in range(0)]
    ended = False
    end = 0
    for i in range(len(chunks)):
        if gaps[i] and ended:
            found.append(end)
            ended = False
        at = offsets[i]
        for k in range(count[chunks[i]]):
            word = word_of[start[chunks[i]] + k]
            flag = flags[word]
            if flag & 4:
                ended = True
            elif ended and not flag & 8:
                found.append(end)
                ended = False
            at += length[word]
            end = at
    if ended and gaps[len(chunks)]:
        found.append(end)
    return np.array(found, np.int64)
