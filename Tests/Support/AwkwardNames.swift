/// Names of files and folders that are often mistaken for something else: what has a meaning in a URL, a shell, an SQLite
/// URI or an option, and letters beyond ASCII.
package let awkwardNames = [
    "my folder", " leading and trailing ", "ü", "u\u{308}", "日本 🦄", "100%", "a%20b", "%2F", "%00", "a?b#c", "a?mode=ro",
    "it's \"x\"", "-dash", "--key=value", "a\\b", "a:b", ":memory:", "file:x", "file:x?mode=memory", "~", "~root",
    "a&b;c",
    "$HOME", "*", "[a]", "line\nfeed", "plus+plus", "a=b", ".hidden", "a.gz.", "comma,comma",
]
