import Foundation
import Sluice

@Model struct Airline {
    @PrimaryKey var carrier: String
    var name = ""
}

@Model struct Airport {
    @PrimaryKey var faa: String
    var name = ""
}

@Model struct Plane {
    @PrimaryKey var tailnum: String
    var manufacturer = ""
    var type = ""
    var seats = 0
}

/// The nineteen columns of the table of flights from New York, four of them links.
@Model struct Flight {
    var year = 0
    var month = 0
    var day = 0
    var departureTime: Int?
    var scheduledDepartureTime = 0
    var departureDelay: Int?
    var arrivalTime: Int?
    var scheduledArrivalTime = 0
    var arrivalDelay: Int?
    var airline: Link<Airline>?
    var number = 0
    var plane: Link<Plane>?
    var origin: Link<Airport>?
    var destination: Link<Airport>?
    var airTime: Int?
    var distance = 0.0
    var hour = 0
    var minute = 0
    var scheduled: Date
}
