import Foundation
import Sluice

/// Shows the board: repainted in place on a terminal, as plain lines elsewhere.
final class Screen: @unchecked Sendable {
    // The lock guards all variables.
    private let lock = NSLock()
    private let isTerminal =
        isatty(1) == 1 && !["", "dumb"].contains(ProcessInfo.processInfo.environment["TERM"] ?? "")
    private var paintedLineCount = 0
    private var board: [String] = []
    private var log: [String] = []

    /// Writes a line, below the board if there is one.
    func say(_ line: String) {
        lock.withLock {
            guard isTerminal, paintedLineCount > 0 else { return write(line + "\n") }
            log.append(line)
            repaint()
        }
    }

    /// Paints the board over the last one. Without a terminal, writes only `summary`.
    func paint(_ lines: [String], summary: String) {
        lock.withLock {
            guard isTerminal else { return write(summary + "\n") }
            board = lines
            repaint()
        }
    }

    /// Paints the board and, below it, as many of the last lines as fit.
    private func repaint() {
        let (width, height) = size()
        let roomForBoard = max(height - 8, 4)
        var lines = board.prefix(roomForBoard).map { String($0.prefix(width)) } + [""]
        var said: [String] = []
        for line in log.reversed() {
            let pieces = fold(line, width)
            guard said.count + pieces.count < height - lines.count, said.count + pieces.count <= 8 else { break }
            said = pieces + said
        }
        lines += said
        let erase = paintedLineCount > 0 ? "\u{1B}[\(paintedLineCount)A\u{1B}[J" : ""
        paintedLineCount = lines.count
        write(erase + lines.map { $0 + "\n" }.joined())
    }

    /// How many columns and rows the terminal has.
    private func size() -> (width: Int, height: Int) {
        var window = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else { return (80, 40) }
        return (Int(window.ws_col), Int(window.ws_row))
    }

    /// Breaks a text into lines of a width, between words where that is possible.
    private func fold(_ text: String, _ width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            if !lines[lines.count - 1].isEmpty, lines[lines.count - 1].count + 1 + word.count > width {
                lines.append("")
            }
            let isFirst = lines[lines.count - 1].isEmpty
            lines[lines.count - 1] = String((lines[lines.count - 1] + (isFirst ? "" : " ") + word).prefix(width))
        }
        return lines
    }

    /// Writes to the output, unless its reader has left.
    private func write(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
}

/// Draws a departure board as lines of text.
struct BoardPainter {
    private let clock: DateFormatter

    init() {
        clock = DateFormatter()
        clock.locale = Locale(identifier: "en_US_POSIX")
        clock.timeZone = TimeZone(identifier: "America/New_York")
        clock.dateFormat = "EEE HH:mm"
    }

    func time(_ date: Date) -> String { clock.string(from: date) }

    func lines(_ change: Change<Flight>, title: String) -> [String] {
        let touched = Set(change.insertions + change.modifications)
        var lines = [title, "", "   TIME       FLIGHT   TO                              STATUS"]
        for (index, flight) in change.results.enumerated() {
            // A mark shows where a change came from: ◆ the server, ● this client.
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
