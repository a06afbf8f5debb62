extension Results: CustomStringConvertible {
    /// The query in its canonical form, or what is wrong with it, cut after 300 characters. It reads no object.
    public var description: String {
        do { return try "Results(\(BoundedText.cut(canonicalText)))" } catch {
            return "Results(\(BoundedText.cut("\(error)")))"
        }
    }
}

extension ResultsSnapshot: CustomStringConvertible {
    /// The number of objects, and the first ten of them, one on each line. For an object that cannot be read, the line
    /// says why. A line is cut after 300 characters.
    public var description: String {
        let shown = 0..<Swift.min(count, 10)
        let lines = shown.map { index in
            do { return try "  " + BoundedText.cut("\(self[index])") } catch {
                return "  unreadable: " + BoundedText.cut(String(reflecting: error))
            }
        }
        let rest = count > shown.count ? ["  … \(count - shown.count) more"] : []
        return (["\(count) \(count == 1 ? "object" : "objects")"] + lines + rest).joined(separator: "\n")
    }
}
