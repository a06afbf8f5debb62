internal import Synchronization

/// Counts what a store reports, and shows it as text in Prometheus' exposition format.
///
/// It is a `StoreMetrics`; several stores of a process may share one. Nothing is served: a program writes ``text`` to
/// where its monitoring reads it. A server counts by itself, see `SyncServer.metricsText()`.
public final class MetricsText: Sendable {
    private struct Family {
        let kind: MetricFamily.Kind
        let help: String
        /// The values, by the label; nil for none.
        var values: [Label?: Double] = [:]
        /// How many observations a summary has, by the label.
        var counts: [Label?: Int] = [:]
    }

    private struct Label: Hashable {
        var name: String
        var value: String
    }

    private let families = Mutex<[String: Family]>([:])

    /// Makes one that has counted nothing.
    public init() {}

    /// What was counted so far, ordered by name: O(n log n) in the number of lines.
    public var text: String {
        families.withLock { $0 }.sorted { $0.key < $1.key }.map { name, family in
            var shown = MetricFamily(name, family.kind, family.help)
            for (label, value) in family.values.sorted(by: { ($0.key?.value ?? "") < ($1.key?.value ?? "") }) {
                let labels = label.map { [(name: $0.name, value: $0.value)] } ?? []
                let isSummary = family.kind == .summary
                shown.samples.append(.init(suffix: isSummary ? "_sum" : "", labels: labels, value: value))
                guard isSummary else { continue }
                let count = Double(family.counts[label] ?? 0)
                shown.samples.append(.init(suffix: "_count", labels: labels, value: count))
            }
            return shown.text
        }.joined()
    }

    // MARK: Counting

    /// Adds to a number that only grows.
    package func count(_ name: String, _ help: String, _ amount: Int = 1, label: (name: String, value: String)? = nil) {
        add(Double(amount), to: name, .counter, help, label)
    }

    /// Adds a time, in seconds.
    package func time(_ name: String, _ help: String, _ duration: Duration, label: (name: String, value: String)? = nil)
    {
        add(duration / .seconds(1), to: name, .summary, help, label)
    }

    private func add(
        _ amount: Double, to name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ label: (name: String, value: String)?
    ) {
        let label = label.map { Label(name: $0.name, value: $0.value) }
        families.withLock { families in
            families[name, default: Family(kind: kind, help: help)].values[label, default: 0] += amount
            if kind == .summary { families[name]?.counts[label, default: 0] += 1 }
        }
    }
}
