internal import Synchronization

/// Counts what a store or a server reports, and shows it as text in Prometheus' exposition format.
///
/// It is a `StoreMetrics` and a `ServerMetrics`; several stores and servers of a process may share one. Nothing is
/// served: a program writes ``text`` to where its monitoring reads it.
public final class MetricsText: Sendable {
    private enum Kind: String { case counter, gauge, summary }

    private struct Family {
        let kind: Kind
        let help: String
        /// The values, by the label; an empty one for none.
        var values: [String: Double] = [:]
        /// How many observations a summary has, by the label.
        var counts: [String: Int] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    /// Makes one that has counted nothing.
    public init() {}

    /// What was counted so far, ordered by name: O(n log n) in the number of lines.
    public var text: String {
        let families = families.withLock { $0 }
        return families.sorted { $0.key < $1.key }.map { name, family in
            var lines = ["# HELP \(name) \(family.help)", "# TYPE \(name) \(family.kind.rawValue)"]
            for (label, value) in family.values.sorted(by: { $0.key < $1.key }) {
                if family.kind == .summary {
                    lines.append("\(name)_sum\(label) \(value)")
                    lines.append("\(name)_count\(label) \(family.counts[label] ?? 0)")
                } else {
                    lines.append("\(name)\(label) \(Self.number(value))")
                }
            }
            return lines.joined(separator: "\n") + "\n"
        }.joined()
    }

    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String(value)
    }

    // MARK: Counting

    /// Adds to a number that only grows.
    package func count(_ name: String, _ help: String, _ amount: Int = 1, label: (name: String, value: String)? = nil) {
        change(name, .counter, help, label) { $0 + Double(amount) }
    }

    /// Adds to a number that rises and falls.
    package func shift(_ name: String, _ help: String, by amount: Int) {
        change(name, .gauge, help, nil) { $0 + Double(amount) }
    }

    /// Adds a time, in seconds.
    package func time(_ name: String, _ help: String, _ duration: Duration, label: (name: String, value: String)? = nil)
    {
        change(name, .summary, help, label) { $0 + duration / .seconds(1) }
    }

    private func change(
        _ name: String, _ kind: Kind, _ help: String, _ label: (name: String, value: String)?,
        _ body: (Double) -> Double
    ) {
        let label = label.map { "{\($0.name)=\"\(Self.escaped($0.value))\"}" } ?? ""
        families.withLock { families in
            families[name, default: Family(kind: kind, help: help)].values[label, default: 0] =
                body(families[name]?.values[label] ?? 0)
            if kind == .summary { families[name]?.counts[label, default: 0] += 1 }
        }
    }

    private static func escaped(_ text: String) -> String {
        text.map { character in
            switch character {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(character)
            }
        }.joined()
    }
}
