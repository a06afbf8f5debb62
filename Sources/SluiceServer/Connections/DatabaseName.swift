internal import SluiceExchange

/// The rule for names of databases: 1 to 64 letters, digits, `_` and `-`. The names are also file names.
package enum DatabaseName {
    package static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
                default: false
                }
            }
    }

    /// What may help somebody who has named a database that is not there: the name that was probably meant, or else those
    /// that there are.
    ///
    /// - Parameter names: the databases that are there; the caller may know them.
    package static func hint(for name: String, among names: [String]) -> String {
        if let nearest = Suggestion.closest(to: name, among: names) { return "did you mean '\(nearest)'?" }
        guard !names.isEmpty else { return "it has none" }
        let rest = names.count - listedCountMax
        return "it has \(names.prefix(listedCountMax).joined(separator: ", "))" + (rest > 0 ? " and \(rest) more" : "")
    }

    private static let listedCountMax = 10
}
