/// A set of at least one number. With one number, which is the usual case, it allocates no memory.
enum NumberSet {
    case one(UInt64)
    case many(Set<UInt64>)

    init(_ number: UInt64) { self = .one(number) }

    var count: Int { if case .many(let numbers) = self { numbers.count } else { 1 } }

    mutating func insert(_ number: UInt64) {
        switch self {
        case .one(let other): if other != number { self = .many([other, number]) }
        case .many(var numbers):
            self = .one(number)
            numbers.insert(number)
            self = .many(numbers)
        }
    }

    /// Removes a number.
    ///
    /// - Returns: whether the set is empty now; the owner must then drop it.
    mutating func remove(_ number: UInt64) -> Bool {
        switch self {
        case .one(let own): return own == number
        case .many(var numbers):
            self = .one(number)
            numbers.remove(number)
            self = numbers.count == 1 ? .one(numbers[numbers.startIndex]) : .many(numbers)
            return numbers.isEmpty
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        switch self {
        case .one(let number): body(number)
        case .many(let numbers): numbers.forEach(body)
        }
    }
}

extension Dictionary where Value == NumberSet {
    /// Adds a number to the set of a key.
    mutating func insert(_ number: UInt64, for key: Key) {
        if self[key]?.insert(number) == nil { self[key] = NumberSet(number) }
    }

    /// Removes a number from the set of a key, and drops the set if it is empty then.
    mutating func remove(_ number: UInt64, for key: Key) {
        if self[key]?.remove(number) ?? false { self[key] = nil }
    }
}
