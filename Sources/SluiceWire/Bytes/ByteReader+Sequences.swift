internal import SluiceModel

extension ByteReader {
    package mutating func bool() throws(WireError) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        case let other: throw malformed("\(other) where 0 or 1 belongs")
        }
    }

    /// A position or number that fits `Int32`, such as a class or property position.
    package mutating func position() throws(WireError) -> Int {
        let value = try varint()
        guard value <= UInt64(Int32.max) else { throw malformed("the position \(value)") }
        return Int(value)
    }

    /// The count of elements that follow, each of at least `size` bytes. Takes them off the budget.
    ///
    /// - Parameter weight: how many elements' worth of memory one takes.
    package mutating func count(minimumSize size: Int = 1, weight: Int = 1) throws(WireError) -> Int {
        let value = try varint()
        guard value <= UInt64(remaining / size) else {
            throw WireError(.truncated, "\(value) elements announced, \(remaining) bytes left", offset: offset)
        }
        let (elements, overflow) = Int(value).multipliedReportingOverflow(by: weight)
        try spend(elements: overflow ? .max : elements)
        return Int(value)
    }

    /// Takes elements off the budget, before room for them is made.
    package mutating func spend(elements count: Int) throws(WireError) {
        guard count <= budget.elements else {
            throw WireError(
                .limitExceeded, "more than \(limits.elementCountMax) elements in one frame", offset: offset)
        }
        budget.elements -= count
    }

    /// Runs `body` one level of values deeper.
    package mutating func nested<Result>(
        _ body: (inout ByteReader) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        guard budget.depth > 0 else {
            throw WireError(
                .limitExceeded, "values nested deeper than \(limits.nestingDepthMax)", offset: offset)
        }
        budget.depth -= 1
        let result = try body(&self)
        budget.depth += 1
        return result
    }

    /// A varint length that fits in what remains.
    package mutating func length() throws(WireError) -> Int {
        let value = try varint()
        guard value <= UInt64(remaining) else {
            throw WireError(.truncated, "\(value) bytes announced, \(remaining) left", offset: offset)
        }
        return Int(value)
    }

    /// The next `count` bytes, not copied.
    package mutating func slice(_ count: Int) throws(WireError) -> UnsafeRawBufferPointer {
        try require(count)
        let slice = UnsafeRawBufferPointer(rebasing: base[offset..<offset + count])
        offset += count
        return slice
    }

    /// All bytes that remain, not copied.
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: base[offset...]) }

    /// `count` bytes without a length.
    package mutating func raw(_ count: Int) throws(WireError) -> [UInt8] { Array(try slice(count)) }

    /// What was read since an offset.
    func bytes(since start: Int) -> [UInt8] { Array(base[start..<offset]) }

    /// A length, then bytes.
    package mutating func data() throws(WireError) -> [UInt8] { try raw(try length()) }

    /// A length in bytes, then UTF-8.
    package mutating func string() throws(WireError) -> String { try text(try length()) }

    /// `count` bytes of UTF-8.
    package mutating func text(_ count: Int) throws(WireError) -> String {
        let bytes = try slice(count)
        guard let text = bytes.withMemoryRebound(to: UInt8.self, { String(validating: $0, as: UTF8.self) }) else {
            offset -= count
            throw malformed("text that is not UTF-8")
        }
        return text
    }

    package mutating func optional<Wrapped>(
        _ read: (inout ByteReader) throws(WireError) -> Wrapped
    ) throws(WireError) -> Wrapped? {
        try bool() ? try read(&self) : nil
    }

    /// A count, then elements of at least `size` bytes each.
    package mutating func array<Element>(
        minimumSize size: Int = 1, _ read: (inout ByteReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        let weight = max(1, MemoryLayout<Element>.stride / MemoryLayout<Value>.stride)
        let count = try count(minimumSize: size, weight: weight)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try read(&self)) }
        return elements
    }

    /// Reads a part of its own length, to its end.
    package mutating func part<Result>(
        ofLength count: Int, _ read: (inout ByteReader) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        try require(count)
        var reader = ByteReader(
            UnsafeRawBufferPointer(rebasing: base[..<(offset + count)]), limits: limits, budget: budget)
        reader.offset = offset
        let result = try read(&reader)
        try reader.expectEnd()
        offset = reader.offset
        budget = reader.budget
        return result
    }
}
