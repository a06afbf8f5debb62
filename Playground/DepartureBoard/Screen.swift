import Foundation
import Sluice

/// Where the board is shown: repainted in place on a terminal, plain lines elsewhere.
final class Screen: @unchecked Sendable {
    // The lock guards everything.
    private let lock = NSLock()
    private let isTerminal = isatty(1) == 1
    private var paintedLineCount = 0
    private var log: [String] = []

    /// Says one thing: a line below the board, or simply a line.
    func say(_ line: String) {
        lock.withLock {
            guard isTerminal, paintedLineCount > 0 else { return write(line + "\n") }
            log.append(line)
            if log.count > 6 { log.removeFirst() }
        }
    }

    /// Paints the board over the last one; without a terminal only `summary` is written.
    func paint(_ lines: [String], summary: String) {
        lock.withLock {
            guard isTerminal else { return write(summary + "\n") }
            var text = paintedLineCount > 0 ? "\u{1B}[\(paintedLineCount)A" : ""
            let all = lines + [""] + log + Array(repeating: "", count: 6 - log.count)
            for line in all { text += "\u{1B}[2K\(line)\n" }
            paintedLineCount = all.count
            write(text)
        }
    }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}

/// How a departure board is drawn.
struct BoardPainter {
    private let clock: DateFormatter

    init() {
        clock = DateFormatter()
        clock.locale = Locale(identifier: "en_US_POSIX")
        clock.timeZone = TimeZone(identifier: "America/New_York")
        clock.dateFormat = "EEE HH:mm"
    }

    func time(_ date: Date) -> String { clock.string(from: date) }

    func lines(_ change: Change<Flight>, title: String) throws -> [String] {
        let touched = Set(change.insertions + change.modifications)
        var lines = [title, "", "   TIME       FLIGHT   TO                              STATUS"]
        for (index, flight) in try change.results.elements().enumerated() {
            // A mark shows where a change came from: ◆ the server, ● this very client.
            let mark = change.isInitial || !touched.contains(index) ? " " : change.remote == nil ? "●" : "◆"
            lines.append("\(mark)  \(row(of: flight))")
        }
        while lines.count < 23 { lines.append("") }
        return lines
    }

    private func row(of flight: Flight) -> String {
        let carrier = flight.airlineCode
        let destination = (try? flight.destination?.fetch())?.name ?? flight.destination?.key?.description ?? ""
        let status =
            switch flight.delay {
            case nil: ""
            case let delay? where delay > 15: "delayed \(delay) min"
            case let delay? where delay > 0: "+\(delay) min"
            case _?: "on time"
            }
        let code = "\(carrier) \(flight.number)"
        return "\(time(flight.scheduled))  \(column(code, 9))\(column(String(destination.prefix(30)), 32))\(status)"
    }

    private func column(_ text: String, _ width: Int) -> String {
        text.padding(toLength: width, withPad: " ", startingAt: 0)
    }
}
