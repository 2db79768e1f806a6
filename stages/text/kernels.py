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
def runs(codes, space):
    """Return (starts, ends), int32: the runs of code points that are no white space.

    Args:
        codes: uint32. space: bool, by code point: whether it is white space; none beyond is.
    """
    starts = np.empty(len(codes), np.int32)
    ends = np.empty(len(codes), np.int32)
    found = 0
    inside = False
    for at in range(len(codes)):
        blank = codes[at] < len(space) and space[codes[at]]
        if inside and blank:
            ends[found] = at
            found += 1
        elif not inside and not blank:
            starts[found] = at
        inside = not blank
    if inside:
        ends[found] = len(codes)
        found += 1
    return starts[:found], ends[:found]


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


@njit(cache=True, nogil=True, inline="always")
def _is_token(codes, start, end):
    """Tell whether the white space ``codes[start:end]`` behind a word is a token of spaCy: a single space is none."""
    return end - start > 1 or (end - start == 1 and codes[start] != 32)


@njit(cache=True, nogil=True)
def spacy_line_sentences(bounds, codes, starts, ends, numbers, flags):
    """Return int32, shape (lines,): sentences in each line, white space around it left out, as in `spacy_sentence_ends`.

    Args:
        bounds: int64, shape (lines + 1,): where lines begin and the last ends, in code points.
    """
    counts = np.ones(len(bounds) - 1, np.int32)
    word = 0
    for line in range(len(counts)):
        ended = False
        first = word
        while word < len(starts) and starts[word] < bounds[line + 1]:
            flag = flags[numbers[word]]
            between = word > first and _is_token(codes, ends[word - 1], starts[word])
            if ended and (between or not flag & (4 | 8)):
                counts[line] += 1
                ended = False
            if flag & 4:
                ended = True
            word += 1
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
def spacy_sentence_ends(codes, starts, ends, numbers, flags):
    """Return int64: where each sentence but the last ends, in code points.

    A new sentence begins at the first token, after a mark that ends one, that is neither such a mark nor punctuation; white space
    that is a token is neither.

    Args:
        codes: uint32, of the text. starts, ends, numbers: int32, shape (words,). flags: uint8, by number.
    """
    found: list = [np.int64(0) for _ in range(0)]
    ended = False
    end = 0
    for word in range(len(starts)):
        flag = flags[numbers[word]]
        if ended and (_is_token(codes, end, starts[word]) or not flag & (4 | 8)):
            found.append(end)
            ended = False
        if flag & 4:
            ended = True
        end = ends[word]
    if ended and _is_token(codes, end, len(codes)):
        found.append(end)
    return np.array(found, np.int64)
