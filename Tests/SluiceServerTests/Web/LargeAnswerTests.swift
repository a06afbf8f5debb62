import SluiceModel
import TestSupport
import Testing

@testable import SluiceServer

/// Answers by HTTP that are larger than what a server holds of one in memory; `SortedLinesTests` measures that.
@Suite(.ownThread) struct LargeAnswerTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Note", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("rank", .scalar(.int)), Property("text", .scalar(.string)),
            ])
    ])

    @Test func anAnswerOfManyTimesTheMemoryForItIsWholeAndInOrder() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        let port = try server.start()
        try await server.access(to: "any").declare(Self.schema)
        let filler = String(repeating: "x", count: 256 << 10)
        // Twelve times what the lines of an answer have in memory.
        let count = 90
        for start in stride(from: 0, to: count, by: 30) {
            let lines = (start..<start + 30).map { id in
                #"{"op":"insert","class":"Note","key":\#(id),"set":{"rank":\#(id * 7_919 % count),"text":"\#(filler)"}}"#
            }
            let body = lines.joined(separator: "\n")
            let written = try await HTTPAnswer.post(
                "/any/write", body, port: port, ["Content-Length: \(body.utf8.count)"])
            try #require(written.status == 200, "\(written.body)")
        }
        let answer = try await HTTPAnswer.get("/any/query?q=Note%20SORT(rank%20DESC)%20TOTAL", port: port)
        #expect(answer.status == 200)
        let body = answer.unchunked
        #expect(body.utf8.count > 22 << 20)
        let lines = body.split(separator: "\n")
        try #require(lines.count == count + 1)
        #expect(lines.last == "{\"@total\":\(count)}")
        for (position, line) in lines.dropLast().enumerated() {
            #expect(line.contains("\"rank\":\(count - 1 - position),\"text\":\"x"), "line \(position)")
            #expect(line.hasSuffix("x\"}"))
        }
        await server.stop()
    }
}
