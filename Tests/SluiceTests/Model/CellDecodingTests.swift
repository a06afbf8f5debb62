import Foundation
import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

@testable import Sluice

/// A value read from SQLite's cells is the one that is read from a row of values.
@Suite struct CellDecodingTests {
    /// What reading gave: the value and what it carries, or the error.
    private struct Reading: Equatable {
        var values: [Value]?
        var key: ObjectKey?
        var version: UInt64?
        var absent: PropertySet?
        var error: ModelError?
    }

    private func reading<Element: Model>(_ binding: ElementBinding, _ read: () throws -> Element) throws -> Reading {
        do {
            let element = try read()
            let metadata = element.objectMetadata
            #expect(metadata.origin === binding)
            return Reading(
                values: try element.encoded(for: binding).values, key: element.objectKey, version: metadata.version,
                absent: metadata.absent)
        } catch let error as ModelError {
            return Reading(error: error)
        }
    }

    /// Stores rows, and reads each of them both ways.
    ///
    /// - Returns: what reading gave, the same by both ways, by key.
    @discardableResult
    private func readBothWays<Element: Model>(
        _ type: Element.Type, _ rows: [Row], storedAs stored: ClassSchema? = nil
    ) throws -> [ObjectKey: Reading] {
        let declared = try stored ?? Element.modelDefinition.classSchema
        let schema = try Schema([declared, ClassSchema("User", properties: [])])
        let storage = try SQLiteClientStorage.open(.memory)
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("a", "b"))
            for row in rows { try storage.insert(row, ofClass: 0) }
        }
        let binding = try ElementBinding(type, className: declared.name, schema: schema)
        var readings: [ObjectKey: Reading] = [:]
        let query = try Query.parse("TRUEPREDICATE", className: declared.name, schema: schema)
        try withExtendedLifetime(binding) {
            try storage.forEachStoredRow(matching: query) { row in
                let key = try row.object.key
                let fromCells = try reading(binding) { try Element(from: RowDecoder(row, key, binding)) }
                let fromValues = try reading(binding) { try Element.decode(row.row(), binding) }
                #expect(fromCells == fromValues)
                readings[key] = fromCells
                return true
            }
        }
        #expect(readings.count == rows.count)
        return readings
    }

    @Test(arguments: everythingTypes.indices) func everyTypeIsReadFromCells(index: Int) throws {
        func check<Element: Everything>(_: Element.Type) throws {
            let schema = try Schema([Element.modelDefinition.classSchema, ClassSchema("User", properties: [])])
            let binding = try ElementBinding(Element.self, className: "Everything", schema: schema)
            var full = Element()
            full.int = .min
            full.int8 = -128
            full.uint32 = .max
            full.float = .nan
            full.double = -0.0
            full.string = "e\u{301}\0, and more text than fits beside it"
            full.data = Data()
            full.timestamp = Timestamp(microseconds: -1)
            full.decimal = Decimal(string: "-12345678901234567890.5")!
            full.optionalInt = 0
            full.optionalDate = Date(timeIntervalSince1970: -1.5)
            full.optionalStrings = ["a", nil]
            full.uuids = [UUID(), UUID()]
            full.scores = ["b": 1, "a": -1]
            // To objects that are not here.
            full.user = Link(id: ObjectID(high: 1, low: 1))
            full.users = [Link(id: ObjectID(high: 2, low: 1)), Link(id: ObjectID(high: 1, low: 1))]
            var empty = Element()
            empty.bool = false
            empty.float = .infinity
            empty.double = .nan
            empty.string = ""
            empty.level = nil
            empty.optionalString = nil
            empty.ints = []
            let elements = [full, empty]
            var rows = try elements.map { try $0.encoded(for: binding) }
            rows[0].version = .max
            let readings = try readBothWays(Element.self, rows)
            for row in rows {
                let reading = readings[row.key]
                #expect(reading?.values == row.values)
                #expect(reading?.version == row.version && reading?.absent == [])
            }
        }
        try check(everythingTypes[index])
    }

    /// A store's class in which other programs have given the properties wider types.
    private func wideSchema(_ seats: PropertyType) throws -> ClassSchema {
        try ClassSchema(
            "Plane", primaryKey: "tailnum",
            properties: [
                Property("extra", .scalar(.string)), Property("seats", seats), Property("tailnum", .scalar(.string)),
            ])
    }

    @Test(arguments: [
        (PropertyType.scalar(.double), Value.double(4), Value.double(4.5)),
        (.scalar(.decimal), .decimal(4), .decimal(Decimal(string: "4.5")!)),
        (.scalar(.double, isOptional: true), .double(4), .double(4.5)),
    ]) func aWiderTypeIsReadWhereItsValueFits(type: PropertyType, fitting: Value, other: Value) throws {
        let rows = [("a", fitting), ("b", other)].map { key, seats in
            Row(key: .string(key), version: 3, values: [.string("e"), seats, .string(key)])
        }
        let readings = try readBothWays(ManualPlane.self, rows, storedAs: wideSchema(type))
        #expect(readings[.string("a")]?.values?[1] == fitting)
        let error = try #require(readings[.string("b")]?.error)
        #expect(error.code == .typeMismatch && error.property == "seats" && error.value == other)
        #expect(error.object == Identity(className: "Plane", key: .string("b")))
    }

    @Test func aDefaultStandsForNullAndIsNotWrittenBack() throws {
        let row = Row(key: .string("a"), values: [.string("e"), .null, .string("a")])
        let schema = try wideSchema(.scalar(.int, isOptional: true))
        let reading = try readBothWays(ManualPlane.self, [row], storedAs: schema)[.string("a")]
        #expect(reading?.absent == [1] && reading?.error == nil)
    }

    @Test func aDefaultStandsForWhatIsExcludedOrTheErrorNamesIt() throws {
        let rows = [("a", 1), ("b", 2)].map { key, absent in
            Row(key: .string(key), values: [.string(""), .int(0), .string(key)], absent: [0, absent])
        }
        let schema = try wideSchema(.scalar(.int))
        let readings = try readBothWays(ManualPlane.self, rows, storedAs: schema)
        #expect(readings[.string("a")]?.absent == [1])
        #expect(readings[.string("b")]?.error?.code == .excluded)
        #expect(readings[.string("b")]?.error?.property == "tailnum")
    }

    @Test func aRecordThatAModelMakesOfItsDecoderIsWhole() throws {
        let schema = try Schema([wideSchema(.scalar(.int))])
        let storage = try SQLiteClientStorage.open(.memory)
        let row = Row(key: .string("a"), version: 7, values: [.string("e"), .int(4), .string("a")])
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("a", "b"))
            try storage.insert(row, ofClass: 0)
        }
        let binding = try ElementBinding(ManualPlane.self, className: "Plane", schema: schema)
        let query = try Query.parse("TRUEPREDICATE", className: "Plane", schema: schema)
        try withExtendedLifetime(binding) {
            try storage.forEachStoredRow(matching: query) {
                let whole = try RowDecoder($0, $0.object.key, binding).row
                #expect(whole == row)
                return true
            }
        }
    }
}
