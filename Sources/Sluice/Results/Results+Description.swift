extension Results: CustomStringConvertible {
    /// The query in its canonical form, or what is wrong with it, cut after 300 characters. It reads no object.
    public var description: String {
        do { return try "Results(\(BoundedText.cut(canonicalText)))" } catch {
            return "Results(\(BoundedText.cut("\(error)")))"
        }
    }
}

extension ResultsSnapshot: CustomStringConvertible {
    /// The number of objects, and the first ten of them, one on each line. Then the number of objects that cannot be
    /// read, if there are any, and why the first ten cannot. A line is cut after 300 characters.
    public var description: String {
        let errors = unreadable
        var lines = ["\(count) \(count == 1 ? "object" : "objects")"] + Self.lines(count, prefix(10).map { "\($0)" })
        if !errors.isEmpty {
            lines += ["\(errors.count) unreadable"]
            lines += Self.lines(errors.count, errors.prefix(10).map { String(reflecting: $0) })
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ count: Int, _ shown: [String]) -> [String] {
        shown.map { "  " + BoundedText.cut($0) } + (count > shown.count ? ["  … \(count - shown.count) more"] : [])
    }
}
