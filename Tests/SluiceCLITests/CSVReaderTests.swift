import Testing

@testable import SluiceCLI

struct CSVReaderTests {
    /// Every record of a file, with bad records as their messages.
    private func read(_ text: String) throws -> [[String]] {
        let file = try TemporaryFile(text)
        let reader = try CSVReader(path: file.path)
        var records: [[String]] = [reader.header]
        while true {
            do {
                guard try reader.next() else { return records }
                records.append((0..<reader.fieldCount).map { reader.text(of: $0) ?? "?" })
            } catch let error as RowError {
                records.append([error.description(file: "f")])
            }
        }
    }

    @Test(arguments: [
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
        ("\u{FEFF}a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("a,b\n,\n", [["a", "b"], ["", ""]]),
        ("a,b\n\n1,2\n\n", [["a", "b"], ["1", "2"]]),
        ("a\nx\n\ny\n", [["a"], ["x"], [""], ["y"]]),
        ("a,b\n\"1,5\",\"say \"\"hi\"\"\"\n", [["a", "b"], ["1,5", "say \"hi\""]]),
        ("a,b\n\"one\ntwo\",\"\"\n3,4\n", [["a", "b"], ["one\ntwo", ""], ["3", "4"]]),
        ("a,b\r\n\"one\r\ntwo\",x\r\n", [["a", "b"], ["one\r\ntwo", "x"]]),
        ("\"a\",\"b\"\n\"1\",\"2\"", [["a", "b"], ["1", "2"]]),
        (
            "a,b\n1,2,3\n4,5\n6\n",
            [["a", "b"], ["f:2: 3 fields, and the header has 2"], ["4", "5"], ["f:4: 1 field, and the header has 2"]]
        ),
        ("a,b\n\"x\ny\",1\n7\n", [["a", "b"], ["x\ny", "1"], ["f:4: 1 field, and the header has 2"]]),
    ])
    func recordsAreCutByTheRules(text: String, expected: [[String]]) throws {
        #expect(try read(text) == expected)
    }

    @Test(arguments: [
        ("a,b\n1,x\"y\n2,3\n", "f:2: column 'b': a quote within an unquoted field"),
        ("a,b\n\"1\"x,2\n2,3\n", "f:2: column 'a': text behind the closing quote"),
    ])
    func malformedRecordsAreReportedAndReadingGoesOn(text: String, message: String) throws {
        let records = try read(text)
        #expect(records.count == 3)
        #expect(records[1][0].hasPrefix(message), "\(records[1])")
        #expect(records[2] == ["2", "3"])
    }

    @Test func aQuoteThatNeverClosesEndsTheReadingWithItsLine() throws {
        let file = try TemporaryFile("a,b\n1,2\n3,\"x\n4,5\n6,7\n")
        let reader = try CSVReader(path: file.path)
        #expect(try reader.next())
        let error = #expect(throws: CommandError.self) { try reader.next() }
        #expect(error?.message == "\(file.path):3: a quoted field begins here and never ends")
    }

    @Test func recordsAcrossTheBufferAreWhole() throws {
        let long = String(repeating: "long text, \"\"quoted\"\"\n", count: 120_000)
        let rows = (0..<3).map { "\($0),\"\(long)\"\n" }.joined()
        let records = try read("a,b\n" + rows)
        #expect(records.count == 4)
        #expect(records[3][0] == "2")
        #expect(records[2][1].utf8.count == 120_000 * 20)
    }

    @Test func packedFilesAreReadThroughGzip() throws {
        let file = try TemporaryFile.packed("a,b\n" + (0..<50_000).map { "\($0),x\n" }.joined())
        let reader = try CSVReader(path: file.path)
        var count = 0
        while try reader.next() { count += 1 }
        #expect(count == 50_000)
    }

    @Test func damagedPackedFilesAreAnError() throws {
        let whole = try TemporaryFile.packed("a,b\n" + (0..<50_000).map { "\($0),x\n" }.joined())
        let data = try #require(readAll(whole.path))
        let file = try TemporaryFile(bytes: Array(data.dropLast(100)), suffix: ".csv.gz")
        let error = #expect(throws: CommandError.self) {
            let reader = try CSVReader(path: file.path)
            while try reader.next() {}
        }
        #expect(error?.message.contains("gzip") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["/nonexistent/file.csv", "/tmp"])
    func whatCannotBeReadIsNamed(path: String) {
        let error = #expect(throws: CommandError.self) { try CSVReader(path: path) }
        #expect(error?.message.hasPrefix(path) == true)
        #expect(error?.kind == .failure)
    }

    @Test func anEmptyFileLacksItsHeader() throws {
        let file = try TemporaryFile("")
        #expect(throws: CommandError.self) { try CSVReader(path: file.path) }
    }
}
