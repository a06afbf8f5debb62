internal import SluiceModel

extension Change: CustomStringConvertible {
    /// One line that shows the origin of the change, what it did, and the state of the subscription. It contains no
    /// values of objects, and its length does not grow with the results.
    ///
    /// `remote (create): 3 objects, 1 inserted at 2; complete`
    public var description: String {
        let parts = [
            "\(results.count)\(total.map { " of \(isTotalExact ? "" : "about ")\($0)" } ?? "") \(results.count == 1 ? "object" : "objects")",
            Self.text(deletions, "deleted", because: Set(removals.map(\.reason.rawValue))),
            Self.text(insertions, "inserted"), Self.text(modifications, "modified"),
            moves.isEmpty ? nil : "\(moves.count) moved",
        ]
        return "\(origin): \(parts.compactMap(\.self).joined(separator: ", ")); "
            + BoundedText.cut("\(subscription)")
    }

    private static func text(_ positions: [Int], _ verb: String, because reasons: Set<String> = []) -> String? {
        guard !positions.isEmpty else { return nil }
        let shown = positions.prefix(5).map(String.init).joined(separator: ", ")
        return "\(positions.count) \(verb) at \(shown)\(positions.count > 5 ? ", …" : "")"
            + (reasons.isEmpty ? "" : " (\(reasons.sorted().joined(separator: ", ")))")
    }
}
