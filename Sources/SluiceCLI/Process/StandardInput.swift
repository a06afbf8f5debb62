internal import Dispatch
internal import Glibc

/// Reads standard input as lines, in groups as they arrive.
final class StandardInput {
    /// A line and its number, from 1.
    struct Line: Sendable {
        let number: Int
        let text: String
    }

    /// The most bytes of a line of `sluice write`.
    static let lineSizeMax = 1 << 24
    private static let queue = DispatchQueue(label: "sluice.stdin")

    private var rest: [UInt8] = []
    private var lineCount = 0
    private var isAtEnd = false

    /// Waits for the next lines, of which there is at least one; nil at the end. The wait uses a thread of its own.
    ///
    /// - Throws: ``CommandError`` when reading fails, or when a line is too long or not UTF-8.
    func next() async throws -> [Line]? {
        while !isAtEnd {
            let chunk = try await Self.read()
            isAtEnd = chunk.isEmpty
            rest += chunk
            if isAtEnd, !rest.isEmpty { rest.append(0x0A) }
            let lines = try takeLines()
            if !lines.isEmpty { return lines }
            guard rest.count <= Self.lineSizeMax else {
                throw CommandError.failure(
                    "stdin:\(lineCount + 1): the line is longer than \(Self.lineSizeMax >> 20) MiB")
            }
        }
        return nil
    }

    private func takeLines() throws -> [Line] {
        guard let last = rest.lastIndex(of: 0x0A) else { return [] }
        var lines: [Line] = []
        for bytes in rest[..<last].split(separator: 0x0A, omittingEmptySubsequences: false) {
            lineCount += 1
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CommandError.failure("stdin:\(lineCount): the line is not UTF-8")
            }
            if !text.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
                lines.append(Line(number: lineCount, text: text))
            }
        }
        rest.removeSubrange(...last)
        return lines
    }

    private static func read() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
                    if count >= 0 { return continuation.resume(returning: Array(buffer[..<count])) }
                    if errno != EINTR {
                        return continuation.resume(throwing: CommandError.system("stdin", code: errno))
                    }
                }
            }
        }
    }
}
