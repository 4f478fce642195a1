/* What Cython has no words for: UTF-8, varints, and objects made without their constructor. */
#ifndef AGUI_WIRE_HELPERS_H
#define AGUI_WIRE_HELPERS_H

#include <Python.h>
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#endif
#include <stdint.h>
#include <string.h>

#define AGUI_HIGH_BITS UINT64_C(0x8080808080808080)
#define AGUI_ONES UINT64_C(0x0101010101010101)

static inline int agui_is_ascii(const unsigned char *p, Py_ssize_t n) {
    uint64_t word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        if (word & AGUI_HIGH_BITS) return 0;
    }
    for (; n > 0; p++, n--)
        if (*p & 0x80) return 0;
    return 1;
}

static inline int agui_varint_size(uint64_t value) {
#if defined(__GNUC__)
    /* One byte for seven bits, without a division. */
    return ((63 - __builtin_clzll(value | 1)) * 9 + 73) >> 6;
#endif
    int size = 1;
    while (value >= 0x80) {
        value >>= 7;
        size++;
    }
    return size;
}

static inline unsigned char *agui_put_varint(unsigned char *p, uint64_t value) {
    while (value >= 0x80) {
        *p++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *p++ = (unsigned char)value;
    return p;
}

/* A minimal varint of at most `most` bytes; NULL for any other bytes. */
static inline const unsigned char *agui_read_varint(
    const unsigned char *p, const unsigned char *end, int most, uint64_t *value) {
    uint64_t result = 0;
    int shift = 0;
    unsigned char byte;
    for (; most > 0; most--, shift += 7) {
        if (p >= end) return NULL;
        byte = *p++;
        if (shift == 63 && byte > 1) return NULL;
        result |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            if (byte == 0 && shift) return NULL;
            *value = result;
            return p;
        }
    }
    return NULL;
}

/* The length of a length-delimited field, and that it ends before `end`. */
static inline const unsigned char *agui_read_size(
    const unsigned char *p, const unsigned char *end, Py_ssize_t *size) {
    uint64_t value;
    if (p < end && *p < 0x80) {
        value = *p++;
    } else {
        p = agui_read_varint(p, end, 5, &value);
        if (p == NULL) return NULL;
    }
    if (value > (uint64_t)(end - p)) return NULL;
    *size = (Py_ssize_t)value;
    return p;
}

static inline double agui_read_double(const unsigned char *p) {
    double value;
#if PY_LITTLE_ENDIAN
    memcpy(&value, p, 8);
#else
    uint64_t bits = 0;
    int i;
    for (i = 7; i >= 0; i--) bits = bits << 8 | p[i];
    memcpy(&value, &bits, 8);
#endif
    return value;
}

static inline unsigned char *agui_put_double(unsigned char *p, double value) {
#if PY_LITTLE_ENDIAN
    memcpy(p, &value, 8);
#else
    uint64_t bits;
    int i;
    memcpy(&bits, &value, 8);
    for (i = 0; i < 8; i++) p[i] = (unsigned char)(bits >> 8 * i);
#endif
    return p + 8;
}

/* The UTF-8 that somebody had cached on a str that is not ASCII, or NULL. */
static inline const char *agui_cached_utf8(PyObject *text) {
    return PyUnicode_IS_COMPACT(text) ? ((PyCompactUnicodeObject *)text)->utf8 : NULL;
}

static Py_ssize_t agui_measure(const void *data, Py_ssize_t n, int kind) {
    Py_ssize_t i, size = n;
    int halves = 0;
    if (kind == PyUnicode_1BYTE_KIND) {
        for (i = 0; i < n; i++) size += ((const Py_UCS1 *)data)[i] >> 7;
    } else if (kind == PyUnicode_2BYTE_KIND) {
        for (i = 0; i < n; i++) {
            Py_UCS2 c = ((const Py_UCS2 *)data)[i];
            halves |= (c & 0xF800) == 0xD800;
            size += (c >= 0x80) + (c >= 0x800);
        }
    } else {
        for (i = 0; i < n; i++) {
            Py_UCS4 c = ((const Py_UCS4 *)data)[i];
            halves |= (c & 0xFFFFF800) == 0xD800;
            size += (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
        }
    }
    return halves ? -1 : size;
}

/* The size of a str as UTF-8, or -1 where it holds half a surrogate pair. */
static inline Py_ssize_t agui_utf8_size(PyObject *text) {
#if PY_VERSION_HEX < 0x030C0000
    if (!PyUnicode_IS_READY(text)) return -1;
#endif
    if (PyUnicode_IS_COMPACT_ASCII(text)) return PyUnicode_GET_LENGTH(text);
    if (agui_cached_utf8(text) != NULL) return ((PyCompactUnicodeObject *)text)->utf8_length;
    return agui_measure(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text));
}

static inline unsigned char *agui_put_code_point(unsigned char *p, Py_UCS4 c) {
    if (c < 0x80) {
        *p++ = (unsigned char)c;
    } else if (c < 0x800) {
        *p++ = (unsigned char)(0xC0 | c >> 6);
        *p++ = (unsigned char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *p++ = (unsigned char)(0xE0 | c >> 12);
        *p++ = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        *p++ = (unsigned char)(0x80 | (c & 0x3F));
    } else {
        *p++ = (unsigned char)(0xF0 | c >> 18);
        *p++ = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        *p++ = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        *p++ = (unsigned char)(0x80 | (c & 0x3F));
    }
    return p;
}

/* memcpy, without the call for what is short. */
static inline unsigned char *agui_copy(unsigned char *p, const void *from, size_t n) {
    const unsigned char *q = (const unsigned char *)from;
    if (n > 16) {
        memcpy(p, q, n);
    } else if (n >= 8) {
        memcpy(p, q, 8);
        memcpy(p + n - 8, q + n - 8, 8);
    } else if (n >= 4) {
        memcpy(p, q, 4);
        memcpy(p + n - 4, q + n - 4, 4);
    } else if (n) {
        p[0] = q[0];
        p[n >> 1] = q[n >> 1];
        p[n - 1] = q[n - 1];
    }
    return p + n;
}

static unsigned char *agui_put_wide(unsigned char *p, PyObject *text) {
    Py_ssize_t i, n = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    const char *cached = agui_cached_utf8(text);
    if (cached != NULL) {
        Py_ssize_t size = ((PyCompactUnicodeObject *)text)->utf8_length;
        memcpy(p, cached, (size_t)size);
        return p + size;
    }
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        for (i = 0; i < n; i++) p = agui_put_code_point(p, ((const Py_UCS1 *)data)[i]);
        return p;
    case PyUnicode_2BYTE_KIND:
        for (i = 0; i < n; i++) p = agui_put_code_point(p, ((const Py_UCS2 *)data)[i]);
        return p;
    default:
        for (i = 0; i < n; i++) p = agui_put_code_point(p, ((const Py_UCS4 *)data)[i]);
        return p;
    }
}

/* A str as UTF-8, which agui_utf8_size has measured; nothing is cached on the str. */
static inline unsigned char *agui_put_utf8(unsigned char *p, PyObject *text) {
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        size_t n = (size_t)PyUnicode_GET_LENGTH(text);
        return agui_copy(p, PyUnicode_DATA(text), n);
    }
    return agui_put_wide(p, text);
}

static inline unsigned char *agui_put_escaped(unsigned char *p, Py_UCS4 c) {
    static const char hex[] = "0123456789abcdef";
    char letter = 0;
    switch (c) {
    case '"': letter = '"'; break;
    case '\\': letter = '\\'; break;
    case '\b': letter = 'b'; break;
    case '\f': letter = 'f'; break;
    case '\n': letter = 'n'; break;
    case '\r': letter = 'r'; break;
    case '\t': letter = 't'; break;
    default:
        if (c >= 0x20) return agui_put_code_point(p, c);
        memcpy(p, "\\u00", 4);
        p[4] = (unsigned char)hex[c >> 4];
        p[5] = (unsigned char)hex[c & 15];
        return p + 6;
    }
    *p++ = '\\';
    *p++ = (unsigned char)letter;
    return p;
}

/* Whether a byte of an ASCII word is a control character, a quote or a backslash. */
static inline int agui_needs_escape(uint64_t word) {
    uint64_t quote = word ^ (AGUI_ONES * '"'), slash = word ^ (AGUI_ONES * '\\');
    return ((((word - AGUI_ONES * 0x20)) | (quote - AGUI_ONES) | (slash - AGUI_ONES))
            & AGUI_HIGH_BITS) != 0;
}

/* A str as JSON text with its quotes: at most 6 bytes a character, and 2; no surrogates. */
static inline unsigned char *agui_put_json_text(unsigned char *p, PyObject *text) {
    Py_ssize_t i = 0, n = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    *p++ = '"';
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        const unsigned char *from = (const unsigned char *)data;
        uint64_t word;
        while (i < n) {
            if (n - i >= 8) {
                memcpy(&word, from + i, 8);
                if (!agui_needs_escape(word)) {
                    memcpy(p, &word, 8);
                    p += 8;
                    i += 8;
                    continue;
                }
            }
            Py_ssize_t stop = n - i >= 8 ? i + 8 : n;
            for (; i < stop; i++) {
                unsigned char c = from[i];
                if (c >= 0x20 && c != '"' && c != '\\') *p++ = c;
                else p = agui_put_escaped(p, c);
            }
        }
    } else {
        int kind = PyUnicode_KIND(text);
        for (; i < n; i++) p = agui_put_escaped(p, PyUnicode_READ(kind, data, i));
    }
    *p++ = '"';
    return p;
}

/* RFC 6901: empty, or reference tokens that each begin with a slash; ~ only as ~0 and ~1. */
static inline int agui_is_pointer(const unsigned char *p, Py_ssize_t n) {
    Py_ssize_t i;
    if (n && p[0] != '/') return 0;
    for (i = 0; i < n; i++)
        if (p[i] == '~' && (i + 1 >= n || (p[i + 1] != '0' && p[i + 1] != '1'))) return 0;
    return 1;
}

/* The same of a str. */
static inline int agui_is_text_pointer(PyObject *text) {
    Py_ssize_t i, n = PyUnicode_GET_LENGTH(text);
    if (agui_utf8_size(text) < 0) return 0;
    if (PyUnicode_IS_COMPACT_ASCII(text))
        return agui_is_pointer((const unsigned char *)PyUnicode_DATA(text), n);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    if (n && PyUnicode_READ(kind, data, 0) != '/') return 0;
    for (i = 0; i < n; i++) {
        if (PyUnicode_READ(kind, data, i) != '~') continue;
        Py_UCS4 next = i + 1 < n ? PyUnicode_READ(kind, data, i + 1) : 0;
        if (next != '0' && next != '1') return 0;
    }
    return 1;
}

/* An int that fits 64 bits; `overflow` is not 0 for any other. */
static inline long long agui_int(PyObject *number, int *overflow) {
    *overflow = 0;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return PyUnstable_Long_CompactValue((PyLongObject *)number);
#else
    Py_ssize_t size = Py_SIZE(number);
    if (size >= -1 && size <= 1)
        return size ? size * (long long)((PyLongObject *)number)->ob_digit[0] : 0;
#endif
    return PyLong_AsLongLongAndOverflow(number, overflow);
}

static inline uint32_t agui_hash(const unsigned char *p, Py_ssize_t n) {
    uint64_t hash = (uint64_t)n * UINT64_C(0x9E3779B97F4A7C15), word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    if (n > 0) {
        word = 0;
        memcpy(&word, p, (size_t)n);
        hash = (hash ^ word) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash ^ hash >> 17);
}

static inline PyObject *agui_ascii(const unsigned char *p, Py_ssize_t n) {
    if (n == 1) return PyUnicode_FromOrdinal(*p);
    PyObject *text = PyUnicode_New(n, 127);
    if (text != NULL) agui_copy(PyUnicode_1BYTE_DATA(text), p, (size_t)n);
    return text;
}

/* The offset of a slot in its instances, or -1 where `member` is no plain slot. */
static inline Py_ssize_t agui_slot_offset(PyObject *member) {
    if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) return -1;
    struct PyMemberDef *def = ((PyMemberDescrObject *)member)->d_member;
    return def->type == 16 /* T_OBJECT_EX */ && def->flags == 0 ? def->offset : -1;
}

/* An instance with every slot empty, not yet tracked by the collector. */
static inline PyObject *agui_new(PyTypeObject *type) {
    PyObject *object = PyObject_GC_New(PyObject, type);
    if (object != NULL)
        memset((char *)object + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject));
    return object;
}

/* A list that has room for `room` items and none yet. */
static inline PyObject *agui_list(Py_ssize_t room) {
    PyObject *list = PyList_New(room);
    if (list != NULL) Py_SET_SIZE((PyVarObject *)list, 0);
    return list;
}

/* Appends `item`, whose reference it takes. */
static inline int agui_append(PyObject *list, PyObject *item) {
    Py_ssize_t size = Py_SIZE(list);
    if (size < ((PyListObject *)list)->allocated) {
        ((PyListObject *)list)->ob_item[size] = item;
        Py_SET_SIZE((PyVarObject *)list, size + 1);
        return 0;
    }
    int result = PyList_Append(list, item);
    Py_DECREF(item);
    return result;
}

#endif
