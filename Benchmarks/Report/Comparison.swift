import Foundation

/// Says what has changed since the last run that was written to the same file.
///
/// Where there is a floor it compares ratios, since machines differ and are noisy; elsewhere absolute values.
struct Comparison {
    /// A change by more than this share is not noise.
    static let notableShare = 0.1

    private struct File: Decodable {
        struct Entry: Decodable {
            let row: String
            let name: String
            let ours: Double
            let ratio: Double?
        }

        let isQuick: Bool
        let measurements: [Entry]
    }

    private let entries: [String: File.Entry]
    private let date: Date

    /// Reads the results of an earlier run; nil if there is no such file, or if its run had other sizes.
    ///
    /// - Throws: ``BenchmarkError`` when the file exists and does not hold results.
    init?(file path: String, isQuick: Bool) throws {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let file = try? JSONDecoder().decode(File.self, from: data) else {
            throw BenchmarkError(
                "\(path) is there and holds no results of these benchmarks; name another with --json=FILE")
        }
        guard file.isQuick == isQuick else { return nil }
        entries = Dictionary(file.measurements.map { ("\($0.row) \($0.name)", $0) }) { $1 }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        date = attributes?[.modificationDate] as? Date ?? .distantPast
    }

    /// A line for each measurement that has changed, one with the number of new ones, or a line that none has changed.
    func text(_ measurements: [Measurement]) -> String {
        var lines: [String] = []
        var newCount = 0
        for measurement in measurements {
            let name = "\(measurement.row) \(measurement.name)"
            guard let former = entries[name] else {
                newCount += 1
                continue
            }
            let (what, old, new) =
                if let ratio = measurement.ratio, let formerRatio = former.ratio {
                    ("ratio", formerRatio, ratio)
                } else {
                    (measurement.unit, former.ours, measurement.ours)
                }
            guard old != new, abs(new - old) > Self.notableShare * abs(old) else { continue }
            let share = old == 0 ? "" : String(format: " (%+.0f %%)", (new / old - 1) * 100)
            lines.append("  \(name): \(what) \(old.shown) -> \(new.shown)\(share)")
        }
        if newCount > 0 { lines.append("  measurements that were not in it: \(newCount)") }
        let since = "Since the run of \(date.formatted(.iso8601))"
        let limit = "\(Int(Self.notableShare * 100)) %"
        return lines.isEmpty
            ? "\(since) nothing moved by more than \(limit).\n"
            : "\(since), what moved by more than \(limit):\n" + lines.joined(separator: "\n") + "\n"
    }
}
