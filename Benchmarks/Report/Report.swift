import Foundation

/// The table of a whole run.
struct Report {
    private let options: Options
    private(set) var measurements: [Measurement] = []

    init(_ options: Options) { self.options = options }

    mutating func add(_ measurement: Measurement) { measurements.append(measurement) }

    /// The table as text, columns aligned.
    var table: String {
        let header = ["row", "what", "ours", "floor", "unit", "ratio", "goal", "met"]
        let lines = [header] + measurements.map(cells)
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        var text = options.isQuick ? "A quick run: sizes are small, and ratios mean little.\n" : ""
        for line in lines {
            let padded = line.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                return (2...5).contains(column) && column != 4 ? blanks + cell : cell + blanks
            }
            while text.last == " " { text.removeLast() }
            text += padded.joined(separator: "  ") + "\n"
        }
        return text
    }

    private func cells(_ measurement: Measurement) -> [String] {
        [
            measurement.row, measurement.name, measurement.ours.shown, measurement.floor?.shown ?? "-",
            measurement.unit,
            measurement.ratio?.shown ?? "-", measurement.goalText, measurement.isMet.map { $0 ? "yes" : "NO" } ?? "",
        ]
    }

    private struct File: Encodable {
        let runCount: Int
        let isQuick: Bool
        let processorCount: Int
        let measurements: [Measurement]
    }

    /// Writes all measurements as JSON.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let file = File(
            runCount: options.runCount, isQuick: options.isQuick,
            processorCount: ProcessInfo.processInfo.processorCount, measurements: measurements)
        try encoder.encode(file).write(to: URL(filePath: path), options: .atomic)
    }
}
