import Foundation
import SluiceModel
import SluiceQuery
import SluiceTransport
import SluiceWire
import Testing

/// The pages that print limits, beside the constants of both sides.
struct LimitPagesTests {
    private let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// The cells of each table of a page that begins with the given head.
    private func table(_ page: String, after head: String) throws -> [[String]] {
        let text = try String(contentsOfFile: "\(root)/\(page)", encoding: .utf8)
        let start = try #require(text.range(of: "\(head)\n"), "\(page) has no table with the head \(head)")
        let lines = text[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
        return lines.prefix { $0.hasPrefix("|") }.dropFirst().map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// A number as the pages print it: `16,777,216`.
    private func text(_ number: Int) -> String {
        var text = ""
        for (position, digit) in String(number).enumerated() {
            if position > 0, (String(number).count - position) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    @Test func theProtocolAndTheGuideHaveTheTableOfDataLimits() throws {
        let limits = DataLimits.standard.table.map { [$0.name, text($0.value)] }
        #expect(try table("PROTOCOL.md", after: "| of data | at most |") == limits)
        let guide = try table("docs/limits.md", after: "## Data\n\n| what | at most |")
        #expect(guide.count > 10)
        for row in guide { #expect(limits.contains(row), "\(row)") }
    }

    @Test func theProtocolHasWhatAServerSaysOfItself() throws {
        let limits = ServerLimits()
        let expected = [
            "\(limits.frameLengthMax >> 20) MiB", "\(limits.expandedLengthMax >> 20) MiB",
            text(Int(limits.sessionCountMax)), text(Int(limits.subscriptionCountMax)),
            text(Int(limits.operationCountMax)), text(Int(limits.pageCreditMax)),
            text(Int(limits.idleTimeoutMilliseconds)),
        ]
        #expect(try table("PROTOCOL.md", after: "| code | limit | standard |").map { $0[2] } == expected)
        let guide = try table("docs/limits.md", after: "## Queries and connections\n\n| what | at most |")
        #expect(guide.map { $0[1] } == [expected[3], expected[2]])
    }

    @Test func theGuideHasTheLimitsOfMessages() throws {
        let guide = try table("docs/limits.md", after: "## Messages between stores\n\n| what | at most |")
        let limits = [
            MessageLimits.topicCountMax, MessageLimits.topicByteCountMax, MessageLimits.payloadByteCountMax,
            MessageLimits.rateMax,
        ]
        #expect(guide.map { $0[1] } == limits.map(text))
    }

    @Test func theLanguageAndTheProtocolHaveTheLimitsOfQueries() throws {
        let expected: [(words: String, limit: Int)] = [
            ("the text", QueryLimits.textLengthMax), ("parentheses", QueryLimits.depthMax),
            ("conditions", QueryLimits.nodeCountMax), ("constants in a list", QueryLimits.listCountMax),
            ("constants in a query", QueryLimits.constantCountMax),
            ("components of a path", QueryLimits.pathLengthMax),
            ("numbers that arithmetic", QueryLimits.arithmeticTermCountMax),
            ("links and collections", QueryLimits.arithmeticLinkCountMax),
            ("subqueries", QueryLimits.subqueryDepthMax), ("keys of a sort", QueryLimits.sortKeyCountMax),
            ("values of AFTER or BEFORE", QueryLimits.sortKeyCountMax),
            ("SORT, DISTINCT and LIMIT", QueryLimits.stageCountMax),
            ("functions of AGGREGATE", QueryLimits.functionCountMax),
            ("paths of GROUP", QueryLimits.groupKeyCountMax), ("groups", Query.Aggregates.groupCountMax),
            ("bytes of the keys", Query.Aggregates.groupSizeMax), ("excluded paths", QueryLimits.exclusionCountMax),
        ]
        let rows = try table("docs/query-language.md", after: "| what | most |")
        #expect(rows.count == expected.count)
        for (row, (words, limit)) in zip(rows, expected) {
            #expect(row[0].hasPrefix(words), "\(row)")
            #expect(row[1].replacingOccurrences(of: " bytes", with: "") == text(limit), "\(row)")
        }
        let protocolNumbers = try table("PROTOCOL.md", after: "| of a query | at most |").map { $0[1] }
        #expect(
            protocolNumbers == [
                text(QueryLimits.textLengthMax), text(QueryLimits.depthMax), text(QueryLimits.arithmeticTermCountMax),
                text(QueryLimits.subqueryDepthMax), text(QueryLimits.stageCountMax), text(QueryLimits.nodeCountMax),
                "\(text(QueryLimits.constantCountMax)), \(text(QueryLimits.listCountMax))",
                text(QueryLimits.pathLengthMax), text(QueryLimits.sortKeyCountMax),
                text(QueryLimits.exclusionCountMax),
            ])
    }

    @Test func bothSidesReadTheLongestFrameThatTheOtherMaySend() {
        let (limits, server) = (DataLimits.standard, ServerLimits())
        #expect(WebSocketOptions().messageByteCountMax == limits.frameByteCount)
        #expect(server.frameLengthMax == limits.frameByteCount && server.expandedLengthMax == limits.expandedByteCount)
        #expect(server.operationCountMax == limits.operationCount)
        #expect(WireLimits(uploadsOf: limits).elementCountMax == limits.uploadElementCount)
        #expect(WireLimits.standard == WireLimits(downloadsOf: limits))
        // Every query is a message of the frame that opens a session.
        #expect(server.subscriptionCountMax < limits.messageCount)
    }
}
