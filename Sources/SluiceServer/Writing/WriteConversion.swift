internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Makes the operations of a transaction of its lines (``WriteRequest``): what `sluice write` makes in a store is made
/// here of the objects that the author may read.
///
/// Later lines see what earlier ones do.
struct WriteConversion {
    private let schema: Schema
    private let storage: SQLiteServerStorage
    private let access: AccessBinding
    private let author: ListEdits.Author
    /// The objects that lines so far have named, as they leave them; nil for one that is not there.
    private var rows: [ObjectRef: Row?] = [:]
    private(set) var operations: [ObjectOperation] = []

    /// - Parameters:
    ///   - access: what the author may read.
    ///   - author: draws ids and places of elements.
    init(_ storage: SQLiteServerStorage, as access: AccessBinding, by author: ListEdits.Author) {
        schema = storage.schema
        self.storage = storage
        self.access = access
        self.author = author
    }

    /// The lines of a transaction.
    ///
    /// - Throws: ``WriteRequestError`` that names the line, counted from 1.
    static func requests(_ operations: String, _ schema: Schema) throws(WriteRequestError) -> [WriteRequest] {
        let json: JSONValue
        do throws(JSONError) { json = try JSONParser.parse(operations) } catch {
            throw WriteRequestError(message: "the operations are no JSON at byte \(error.position): \(error.message)")
        }
        guard let lines = json.array else { throw WriteRequestError(message: "the operations are no array") }
        let parser = WriteRequestParser(schema: schema)
        var requests: [WriteRequest] = []
        for (position, line) in lines.enumerated() {
            do throws(WriteRequestError) { requests.append(try parser.parse(line)) } catch {
                throw WriteRequestError(message: "operation \(position + 1): \(error.message)")
            }
        }
        return requests
    }

    /// The object that a line names, whether it is there or not.
    ///
    /// - Throws: ``WriteRequestError`` where it is named by an id that no object has; what the storage throws.
    func object(of request: WriteRequest) throws -> ObjectRef {
        switch request {
        case .insert(let record), .upsert(let record): reference(record.identity)
        case .update(let target, _, _, _), .delete(let target): try reference(target)
        }
    }

    private func reference(_ identity: Identity) -> ObjectRef {
        ObjectRef(schema.index(of: identity.className) ?? 0, identity.key)
    }

    private func reference(_ target: WriteTarget) throws -> ObjectRef {
        switch target {
        case .identity(let identity): return reference(identity)
        case .id(let id, let className):
            let query = try access.query(try Query.parse("OBJECT(\(id))", schema: schema))
            guard let found = try storage.refs(matching: query).first, schema[found.classIndex].name == className else {
                throw WriteRequestError(message: "there is no \(className) with this \"@id\"")
            }
            return found
        }
    }

    /// Adds what a line does.
    ///
    /// - Throws: ``WriteRequestError`` where an object is there and must not be, or is not and must; what the storage
    ///   throws.
    mutating func add(_ request: WriteRequest) throws {
        let object = try object(of: request)
        let declared = schema[object.classIndex]
        switch request {
        case .insert(let record):
            guard try row(object) == nil else {
                throw WriteRequestError(message: "there is a \(declared.name) with this key already")
            }
            let fields = declared.fields(of: record.row) { property, value in
                value.isIdentical(to: declared.defaultValues[property]) ? .setDefault(value) : .set(value)
            }
            rows[object] = .some(record.row)
            operations.append(ObjectOperation(object, .create(fields)))
        case .upsert(let record):
            var row = try row(object) ?? Row(key: object.key, values: declared.defaultValues(for: object.key))
            let fields = declared.fields(of: record.row) { .set($1) }
            row.apply(fields)
            rows[object] = .some(row)
            operations.append(ObjectOperation(object, .create(fields)))
        case .update(_, let set, let add, let edits):
            guard var row = try row(object) else { throw Self.missing(declared) }
            var fields: [FieldOperation] = []
            func apply(_ name: String, _ change: FieldOperation.Change) throws {
                guard let property = declared.index(of: name) else {
                    throw WriteRequestError(message: "\(declared.name) has no property '\(name)'")
                }
                guard property != declared.primaryKeyIndex else { return }
                let field = FieldOperation(property, change)
                row.apply(field)
                fields.fold(field)
            }
            for (name, value) in set.sorted(by: { $0.key < $1.key }) { try apply(name, .set(value)) }
            for (name, amount) in add.sorted(by: { $0.key < $1.key }) { try apply(name, .add(amount)) }
            for edit in edits {
                guard let property = declared.index(of: edit.property) else { continue }
                guard access.reads.hiddenProperties[object.classIndex]?.contains(property) != true else {
                    throw WriteRequestError(message: "'\(edit.property)' may not be read, and so not be edited")
                }
                try apply(edit.property, change(edit.change, property, row))
            }
            rows[object] = .some(row)
            operations.append(ObjectOperation(object, .update(fields)))
        case .delete:
            guard try row(object) != nil else { throw Self.missing(declared) }
            rows[object] = .some(nil)
            operations.append(ObjectOperation(object, .delete))
        }
    }

    private static func missing(_ declared: ClassSchema) -> WriteRequestError {
        WriteRequestError(message: "there is no \(declared.name) with this key")
    }

    /// An object as the author may read it.
    private func row(_ object: ObjectRef) throws -> Row? {
        if let known = rows[object] { return known }
        guard let row = try storage.row(object),
            try access.reads.allows(row, ofClass: object.classIndex, in: storage)
        else { return nil }
        return row
    }

    private func change(
        _ change: CollectionEdit.Change, _ property: Int, _ row: Row
    ) throws(WriteRequestError) -> FieldOperation.Change {
        if case .elements(let edits) = change { return .edit(edits) }
        guard case .list(var values) = row.values[property] else {
            throw WriteRequestError(message: "the list to be edited is not here")
        }
        switch change {
        case .elements: break
        case .insert(let elements, let position):
            guard (0...values.count).contains(position ?? 0) else {
                throw WriteRequestError(
                    message: "the list has \(values.count) elements, and none is inserted at \(position ?? 0)")
            }
            values.insert(contentsOf: elements, at: position ?? values.count)
        case .remove(let elements):
            for element in elements { values.firstIndex(of: element).map { _ = values.remove(at: $0) } }
        case .move(let from, let to):
            guard values.indices.contains(from), values.indices.contains(to) else {
                throw WriteRequestError(
                    message: "the list has \(values.count) elements, and none moves from \(from) to \(to)")
            }
            values.insert(values.remove(at: from), at: to)
        }
        return .difference(from: row, to: .list(values), of: property, by: author)
    }
}

extension ClassSchema {
    /// An operation for each property that a row has, apart from the primary key.
    fileprivate func fields(
        of row: Row, _ change: (_ property: Int, _ value: Value) -> FieldOperation.Change
    ) -> [FieldOperation] {
        properties.indices.compactMap { property in
            guard property != primaryKeyIndex, !row.absent.contains(property), !properties[property].isRetired else {
                return nil
            }
            return FieldOperation(property, change(property, row.values[property]))
        }
    }
}
