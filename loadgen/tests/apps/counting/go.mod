module counting

go 1.24
