/// Numbers of one kind, as Prometheus collects them: a name, a help text, and a value for each set of labels.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram, summary }

    /// A line: the suffix of its name, its labels in order, and its value.
    package struct Sample: Sendable {
        package var suffix = ""
        package var labels: [(name: String, value: String)] = []
        package var value: Double
    }

    package let name: String
    package let kind: Kind
    package let help: String
    package var samples: [Sample] = []

    /// Makes a family without values.
    ///
    /// - Parameters:
    ///   - name: such as `sluice_server_sessions`; that of a counter ends in `_total`.
    ///   - help: a sentence.
    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// Adds a value.
    package mutating func add(_ value: Double, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: value))
    }

    /// Adds a histogram of seconds.
    package mutating func add(_ histogram: DurationHistogram, _ labels: (name: String, value: String)...) {
        var total: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let bound =
                index < DurationHistogram.bounds.count ? "\(Double(DurationHistogram.bounds[index]) / 1e9)" : "+Inf"
            samples.append(Sample(suffix: "_bucket", labels: labels + [("le", bound)], value: Double(total)))
        }
        samples.append(Sample(suffix: "_sum", labels: labels, value: Double(histogram.sum) / 1e9))
        samples.append(Sample(suffix: "_count", labels: labels, value: Double(total)))
    }

    /// The family in Prometheus' text format, version 0.0.4.
    package var text: String {
        var text = "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += name + sample.suffix + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
            text += " \(Self.number(sample.value))\n"
        }
        return text
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map { String($0) } ?? String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"" where quotes: escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
