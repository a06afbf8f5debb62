internal import Sluice
internal import SluiceExchange
internal import SluiceModel
internal import Synchronization

/// What a program prints: lines of `sluice write`, which are read as they come, so that no more is in memory than one
/// transaction takes.
final class ProgramOutput: Sendable {
    private struct State {
        /// What has come of the line that is not complete.
        var rest: [UInt8] = []
        var lines: [ProgramLine] = []
        var size = DataSize()
        var byteCount = 0
        var lineCount = 0
        /// Why a line cannot be written; nil if all can.
        var fault: String?
        /// Which limit what has come exceeds; nil for none.
        var excess: String?

        /// Whether lines are still wanted.
        var isOpen: Bool { fault == nil && excess == nil }
    }

    private let limits: DataLimits
    private let schema: @Sendable () -> Schema
    private let state = Mutex(State())

    /// - Parameter schema: the schema that lines are of, which may change while the program runs.
    init(limits: DataLimits = .standard, schema: @escaping @Sendable () -> Schema) {
        self.limits = limits
        self.schema = schema
    }

    /// Takes what comes next.
    ///
    /// - Returns: false once it is more than a transaction takes.
    func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        state.withLock { state in
            state.byteCount += bytes.count
            var bytes = bytes
            while let end = bytes.firstIndex(of: 0x0A) {
                append(bytes[..<end], to: &state)
                takeLine(&state)
                bytes = bytes[(end + 1)...]
            }
            append(bytes, to: &state)
            return state.excess == nil
        }
    }

    /// The writes, once all has come.
    ///
    /// - Parameter givenCount: how many objects the program was given.
    /// - Throws: ``CommandError`` when a line is none, or when there is more than a transaction takes.
    func lines(givenCount: Int) throws(CommandError) -> [ProgramLine] {
        let (lines, fault) = state.withLock { state in
            if !state.rest.isEmpty { takeLine(&state) }
            return (state.lines, state.fault)
        }
        try checkSize(givenCount: givenCount)
        if let fault { throw .failure(fault) }
        return lines
    }

    /// - Throws: ``CommandError`` when more has come than a transaction takes, which is also why the program was ended.
    func checkSize(givenCount: Int) throws(CommandError) {
        let problem = state.withLock { state in state.excess.map { excess(state, $0, givenCount) } }
        if let problem { throw .failure(problem) }
    }

    private func append(_ bytes: ArraySlice<UInt8>, to state: inout State) {
        guard state.isOpen else { return }
        state.rest += bytes
        if state.rest.count > StandardInput.lineSizeMax {
            state.rest = []
            state.excess = "a line has at most \(GroupedNumber.text(StandardInput.lineSizeMax)) bytes"
        }
    }

    private func takeLine(_ state: inout State) {
        state.lineCount += 1
        guard state.isOpen else { return }
        let bytes = state.rest
        state.rest.removeAll(keepingCapacity: true)
        guard !bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { return }
        guard let line = String(validating: bytes, as: UTF8.self) else {
            state.fault = "line \(state.lineCount) of the program's output is not UTF-8"
            return
        }
        do throws(WriteRequestError) {
            let request = try WriteRequestParser(schema: schema()).parse(line)
            state.lines.append(ProgramLine(number: state.lineCount, request: request))
            state.size += request.dataSizeMin
        } catch { state.fault = "line \(state.lineCount) of the program's output: \(error.message)" }
        let most = [
            (state.size.byteCount, limits.transactionByteCount, "bytes"),
            (state.size.elementCount, limits.transactionElementCount, "elements"),
            (state.lines.count, limits.operationCount, "operations"),
        ]
        for (count, countMax, unit) in most where count > countMax {
            state.excess = "one transaction has at most \(GroupedNumber.text(countMax)) \(unit)"
        }
        if state.excess != nil { state.lines = [] }
    }

    private func excess(_ state: State, _ limit: String, _ givenCount: Int) -> String {
        let hint =
            givenCount > 1
            ? "it was given \(GroupedNumber.text(givenCount)) objects: use a smaller --batch"
            : "it was given one object, and must print less for it"
        let printed =
            "\(GroupedNumber.text(state.byteCount, "byte")) in \(GroupedNumber.text(state.lineCount, "line"))"
        return "the program printed too much: \(limit), and it had printed \(printed) when it ended; \(hint)"
    }
}

extension WriteRequest {
    /// What the request takes of a transaction, at the least.
    fileprivate var dataSizeMin: DataSize {
        switch self {
        case .insert(let record): Self.size(of: record) { $0 != $1.defaultValue }
        case .upsert(let record): Self.size(of: record) { _, _ in true }
        case .update(let target, let set, let add, let edits):
            [Array(set.values), Array(add.values), edits.flatMap(\.values)].joined()
                .reduce(Self.operation(target.key)) { $0 + Self.field($1) }
        case .delete(let target): Self.operation(target.key)
        }
    }

    /// - Parameter isSent: whether a value of a property is written.
    private static func size(of record: Record, _ isSent: (Value, Property) -> Bool) -> DataSize {
        let declared = record.classSchema
        return declared.properties.reduce(operation(record.key)) { size, property in
            guard property.name != declared.primaryKey, record.isPresent(property.name),
                let value = record[property.name], isSent(value, property)
            else { return size }
            return size + field(value)
        }
    }

    private static func operation(_ key: ObjectKey?) -> DataSize {
        DataSize(byteCount: 12 + (key?.byteCount ?? 0), elementCount: 2)
    }

    private static func field(_ value: Value) -> DataSize {
        DataSize(byteCount: 4, elementCount: 1) + value.dataSize
    }
}

extension WriteTarget {
    fileprivate var key: ObjectKey? { if case .identity(let identity) = self { identity.key } else { nil } }
}

extension CollectionEdit {
    /// The elements that come to a collection.
    fileprivate var values: [Value] {
        switch change {
        case .insert(let values, _): values
        case .elements(let edits): [edits.inserted]
        case .remove, .move: []
        }
    }
}
