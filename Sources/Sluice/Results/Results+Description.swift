extension Results: CustomStringConvertible {
    /// The query in its canonical form, or what is wrong with it. It reads no object.
    public var description: String {
        do { return try "Results(\(canonicalText))" } catch { return "Results(\(error))" }
    }
}

extension ResultsSnapshot: CustomStringConvertible {
    /// The number of objects, and the first ten of them, one on each line. For an object that cannot be read, the line
    /// says why.
    public var description: String {
        let shown = 0..<Swift.min(count, 10)
        let lines = shown.map { index in
            do { return try "  \(self[index])" } catch { return "  unreadable: \(String(reflecting: error))" }
        }
        let rest = count > shown.count ? ["  … \(count - shown.count) more"] : []
        return (["\(count) \(count == 1 ? "object" : "objects")"] + lines + rest).joined(separator: "\n")
    }
}
