import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Pages by column say the same as pages of rows, to the byte, also of those rows alone that are wanted.
@Suite(.ownThread) struct ColumnPagesTests {
    private static let keyTypes: [ScalarType?] = [.int, .string, .uuid, nil]

    /// A class for each way to identify objects, with every scalar type and a link to each class.
    private static func schema() throws -> Schema {
        let names = keyTypes.map { $0.map { "By\($0.rawValue)" } ?? "Keyless" }
        return try Schema(
            zip(keyTypes, names).map { keyType, name in
                var properties = ScalarType.allCases.flatMap { type in
                    [
                        Property("one_\(type.rawValue)", .scalar(type)),
                        Property("maybe_\(type.rawValue)", .scalar(type, isOptional: true)),
                    ]
                }
                properties += names.map { Property("link\($0)", .link($0)) }
                properties.append(Property("list", PropertyType(.scalar(.int), container: .list)))
                if let keyType { properties.insert(Property("key", .scalar(keyType)), at: 3) }
                return try ClassSchema(name, primaryKey: keyType == nil ? nil : "key", properties: properties)
            })
    }

    private static func key(_ type: ScalarType?, _ number: UInt64) -> ObjectKey {
        switch type {
        case .int: .int(Int64(number) - 5)
        case .string: .string("é\(number)")
        case .uuid: .uuid(UUID(uuidString: "00000000-0000-0000-0000-0000000000\(10 + number)")!)
        default: .id(ObjectID(high: .max, low: number))
        }
    }

    private let storage: SQLiteServerStorage
    private let schema: Schema
    private static let rowCount = 40

    init() throws {
        let schema = try Self.schema()
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        var random = SeededGenerator(seed: 7)
        try storage.write {
            _ = try storage.merge(schema, sides: ("a", "b"))
            for (index, declared) in schema.classes.enumerated() {
                for number in 0..<UInt64(Self.rowCount) {
                    let key = Self.key(Self.keyTypes[index], number)
                    var row = Self.row(key, declared, schema, using: &random)
                    if Bool.random(using: &random) {
                        _ = row.edit(declared.properties.count - 1) {
                            ListEdits.erasing(0..<min(1, $0.values.count), in: $0)
                        }
                    }
                    try storage.insert(row, ofClass: index)
                }
            }
        }
        self.schema = schema
        self.storage = storage
    }

    private static func row(
        _ key: ObjectKey, _ declared: ClassSchema, _ schema: Schema, using random: inout SeededGenerator
    ) -> Row {
        let values = declared.properties.map { property -> Value in
            if property.name == declared.primaryKey { return key.value }
            if property.type.isCollection {
                return .list((0..<Int.random(in: 0...3, using: &random)).map { .int(Int64($0)) })
            }
            switch property.type.element {
            case .scalar(let type):
                if property.type.isOptional, Bool.random(using: &random) { return .null }
                return Samples.values(of: type).randomElement(using: &random)!
            case .link(let name):
                // Some of the targets are ghosts, and some columns are mostly null.
                guard Int.random(in: 0..<3, using: &random) > 0 else { return .null }
                let number = UInt64.random(in: 0..<UInt64(rowCount + 3), using: &random)
                return .link(Self.key(keyTypes[schema.index(of: name)!], number))
            }
        }
        return Row(key: key, version: random.next() >> 1, values: values)
    }

    private func bytes(_ block: ObjectBlock) -> [UInt8] {
        var writer = ByteWriter()
        block.encode(into: &writer)
        return writer.bytes
    }

    @Test(arguments: 0..<4) func theyHaveTheBytesOfTheRows(classIndex: Int) throws {
        var random = SeededGenerator(seed: UInt64(classIndex))
        let declared = schema[classIndex]
        let query = try Query.parse(declared.name, schema: schema)
        let all = Array(declared.properties.indices)
        for round in 0..<10 {
            let chosen = round == 0 ? all : all.filter { _ in Bool.random(using: &random) }
            let properties = PropertySet(chosen)
            let limit = Int.random(in: 1...50, using: &random)
            var cursor: RowCursor?
            // In odd rounds some are not wanted; in one of them none is.
            let remainder = UInt64(round == 9 ? 3 : 0)
            func isWanted(_ version: UInt64) -> Bool { round % 2 == 0 || version % 3 == remainder }
            var count = 0
            repeat {
                let rows = try storage.rows(matching: query, after: cursor, limit: limit, byteCountMax: .max)
                var asked: [(key: ObjectKey, version: UInt64)] = []
                let page = try storage.columns(
                    matching: query, of: properties, after: cursor, limit: limit, byteCountMax: .max
                ) { key, version in
                    asked.append((key, version))
                    return isWanted(version)
                }
                let columns = try #require(page)
                #expect(asked.map(\.key) == rows.rows.map(\.key) && asked.map(\.version) == rows.rows.map(\.version))
                let wanted = rows.rows.filter { isWanted($0.version) }
                var expected = ObjectBlock()
                expected.append(wanted, classIndex: classIndex, role: .root, properties: properties) { _, _ in }
                var block = ObjectBlock()
                block.append(columns.rows, classIndex: classIndex, role: .root, properties: properties)
                #expect(block == expected)
                #expect(bytes(block) == bytes(expected))
                #expect(block.estimatedSize == expected.estimatedSize)
                #expect(columns.next == rows.next)
                count += asked.count
                cursor = columns.next
            } while cursor != nil
            #expect(count == Self.rowCount)
        }
    }

    @Test func aPageEndsWhenItsRowsTakeTheBytesThatAreAllowed() throws {
        let query = try Query.parse("Byint", schema: schema)
        var cursor: RowCursor?
        var keys: [ObjectKey] = []
        var pageCount = 0
        repeat {
            let read = try storage.columns(
                matching: query, of: [0, 1, 2, 3], after: cursor, limit: 1_000, byteCountMax: 100
            ) { _, _ in true }
            let page = try #require(read)
            #expect(page.rows.byteCount < 100 + page.rows.rowByteCountMax)
            keys += page.rows.keys
            cursor = page.next
            pageCount += 1
        } while cursor != nil
        #expect(keys.count == Self.rowCount && Set(keys).count == Self.rowCount && pageCount > 5)
    }

    @Test func aQueryOfOneObjectIsReadRowByRow() throws {
        let id = Identity(className: "Keyless", key: Self.key(nil, 1)).objectID
        let query = try Query.parse("OBJECT(\(id))", schema: storage.schema)
        let page = try storage.columns(matching: query, of: [0], after: nil, limit: 10, byteCountMax: .max) { _, _ in
            true
        }
        #expect(page == nil)
    }

    /// A damaged file may hold anything. What travels is text.
    @Test func whatIsNoTextIsRepaired() throws {
        var rows = RowColumns(keyType: .int, [.texts])
        for (number, bytes) in [[0x61], [0xFF], [0xC3, 0xA9]].enumerated() as EnumeratedSequence<[[UInt8]]> {
            let size = bytes.withUnsafeBytes { rows.columns[0].append(text: $0) }
            rows.endRow(.int(Int64(number)), version: 1, byteCount: size)
        }
        var block = ObjectBlock()
        block.append(rows, classIndex: 0, role: .root, properties: [0])
        #expect(block.rows.map(\.values) == [[.string("a")], [.string("\u{FFFD}")], [.string("é")]])
    }
}
