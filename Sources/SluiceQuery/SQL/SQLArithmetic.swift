package import SluiceModel

/// What an arithmetic function of SQL is to do, as one number: operation and types.
package struct ArithmeticCode: Sendable {
    package let operation: ArithmeticOperator
    package let left: ScalarType
    package let right: ScalarType
    package let result: ScalarType

    package init(operation: ArithmeticOperator, left: ScalarType, right: ScalarType, result: ScalarType) {
        self.operation = operation
        self.left = left
        self.right = right
        self.result = result
    }

    /// Nil for what ``number`` never is.
    package init?(number: Int64) {
        let operations = ArithmeticOperator.allCases
        guard number >= 0, number < Int64(operations.count) << 12, let left = ScalarType(code: Int(number >> 8 & 15)),
            let right = ScalarType(code: Int(number >> 4 & 15)), let result = ScalarType(code: Int(number & 15))
        else { return nil }
        self.init(operation: operations[Int(number >> 12)], left: left, right: right, result: result)
    }

    package var number: Int {
        let operation = ArithmeticOperator.allCases.firstIndex(of: operation) ?? 0
        return operation << 12 | left.code << 8 | right.code << 4 | result.code
    }

    /// What the function returns.
    package func apply(_ left: SQLBinding, _ right: SQLBinding) -> SQLBinding {
        guard let leftValue = left.value(of: self.left), let rightValue = right.value(of: self.right) else {
            return .null
        }
        return SQLBinding(Arithmetic.apply(operation, leftValue, rightValue, as: result)) ?? .null
    }
}

extension ScalarType {
    /// The type's number in SQL.
    package var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Nil for the number of no type.
    package init?(code: Int) {
        guard Self.allCases.indices.contains(code) else { return nil }
        self = Self.allCases[code]
    }
}

extension SQLBinding {
    /// The bytes of ``DecimalKey`` for a number of a type; null for null.
    package func decimalKey(of type: ScalarType) -> SQLBinding {
        guard let value = value(of: type), let key = DecimalKey.encode(value) else { return .null }
        return .blob(key)
    }
}
